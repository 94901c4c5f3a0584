// --procs N: this program starts itself N times, one process a rank, and looks after them.
// Owns: the sockets between the children, their places (environment), their lives: when one fails
// all are ended, when the parent dies they die too, and the first failure's exit status becomes the
// parent's.
#pragma once

#include <string>
#include <vector>

namespace weft::perf {

// Starts `program` with `arguments` (argv, the program's name first) as `processes` ranks and waits
// for all of them. Returns the exit status: 0, or that of the first that failed (128 + signal when
// one was killed).
int supervise(int processes, const std::string& program, const std::vector<std::string>& arguments);

}  // namespace weft::perf
