// What ends weft-perf: a text for the user and the exit status of the process.
// Owns: the exit codes and the two ways out (throw Failure while only one thread works, die() from
// anywhere else). Does not own: wrong results, which are counted and reported, and end the run only
// in its exit status.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace weft::perf {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,   // wrong data, too little bandwidth, or a call that failed
  kExitUsage = 2,    // the command line or the job's environment
  kExitTimeout = 3,  // -T: nothing moved for that long
};

class Failure : public std::runtime_error {
 public:
  Failure(int exit_code, const std::string& text)
      : std::runtime_error(text), exit_code_(exit_code) {}
  int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(kExitFailed, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(kExitUsage, fmt::format(format, std::forward<Args>(args)...));
}

// Prints the text and leaves at once, without destructors: communicators with work in flight may
// block in their own.
[[noreturn]] void die(int exit_code, const std::string& text) noexcept;

// From here on only the calling thread ends the process: others that die stop instead, so that what
// they meet because of it (an aborted communicator) does not decide the exit status.
void claim_exit() noexcept;

}  // namespace weft::perf
