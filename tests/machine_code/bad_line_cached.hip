// A line read by an ordinary load, which a cache of this device may answer for ever.
#include "lines.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV Bytes16 load(const char* line) {
    __builtin_amdgcn_s_sleep(1);
    return platform::load16(line);
  }
};
}  // namespace

template __global__ void exchange_lines<Broken>(const LineArgs);
