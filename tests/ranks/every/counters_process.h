// What a process does whose lines are torn (counters_test.cc starts it).
#pragma once

#include <string>
#include <vector>

namespace weft::test {

int run_counters(const std::vector<std::string>& arguments);  // the exit status

}  // namespace weft::test
