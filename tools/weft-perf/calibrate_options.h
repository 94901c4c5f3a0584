// The command line of `weft-perf calibrate`. Owns: names, defaults, ranges, help.
#pragma once

#include <cstdint>
#include <string>

namespace weft::perf {

struct CalibrateOptions {
  std::string library;  // "": our own
  std::string output;   // "": standard output
  int gpus = 0;         // 0: all
  int max_blocks = 0;   // 0: as many as the device has multiprocessors, at most 64
  uint64_t max_bytes = 0;
  int seconds = 40, timeout_seconds = 20;
};

// argv[0] is "calibrate". Prints help and exits, or throws Failure(kExitUsage).
CalibrateOptions parse_calibrate_options(int argc, const char* const* argv);

}  // namespace weft::perf
