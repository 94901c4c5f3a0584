// What the program does as a process of its own, started by a test: the exit status.
#pragma once

#include <string>
#include <vector>

namespace weft::test {

// Ways for a process to end while it has a communicator (L09, life_test.cc): `how`. May also end
// the process itself.
int exit_with(const std::vector<std::string>& arguments);

// One of two ranks, of which one aborts (abort_processes_test.cc).
int abort_rank(const std::vector<std::string>& arguments);

}  // namespace weft::test
