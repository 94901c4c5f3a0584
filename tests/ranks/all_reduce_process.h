// What a process with one or more ranks does (all_reduce_processes_test.cc starts it).
#pragma once

#include <string>
#include <vector>

namespace weft::test {

// The exit status. Arguments: what to do, first rank, ranks of this process, ranks of all, id.
int run_as_process(const std::vector<std::string>& arguments);

}  // namespace weft::test
