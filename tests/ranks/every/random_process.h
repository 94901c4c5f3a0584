// What a process does that is one rank of an episode (random_operations_test.cc starts it).
#pragma once

#include <string>
#include <vector>

namespace weft::test {

// The exit status. Arguments: seed, operations, rank, one id a communicator.
int run_random_process(const std::vector<std::string>& arguments);

}  // namespace weft::test
