// What a process does that is one of two ranks with messages that do not match (mismatch_test.cc
// starts it).
#pragma once

#include <string>
#include <vector>

namespace weft::test {

// The exit status; prints the error that it got. Arguments: rank, floats sent, floats received, id.
int run_mismatch(const std::vector<std::string>& arguments);

}  // namespace weft::test
