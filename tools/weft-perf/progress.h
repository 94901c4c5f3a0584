// Signs of life on stderr during long runs: a line that rewrites itself on a terminal, a plain line
// every 10 s elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace weft::perf {

class Progress {
 public:
  // Only the process that prints the table shows progress.
  explicit Progress(bool shown);
  void note(const std::string& text);
  // Before a line of the table is printed.
  void clear();

 private:
  const bool shown_, on_terminal_;
  bool on_line_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace weft::perf
