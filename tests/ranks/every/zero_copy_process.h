// What a process does whose peers map its buffers (zero_copy_test.cc starts it).
#pragma once

#include <string>
#include <vector>

namespace weft::test {

int run_zero_copy(const std::vector<std::string>& arguments);  // the exit status

}  // namespace weft::test
