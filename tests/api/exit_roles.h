// Ways for a process to end while it has a communicator (L09).
#pragma once

#include <string>

namespace weft::test {

// The exit status; may also end the process itself.
int exit_with(const std::string& how);

}  // namespace weft::test
