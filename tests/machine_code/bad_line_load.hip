// A line read in two halves: its flags are there before the other half's data is.
#include "lines.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV Bytes16 load(const char* line) {
    const auto* half = reinterpret_cast<const uint64_t*>(line);
    const uint64_t low = platform::poll64(half), high = platform::poll64(half + 1);
    return {{uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)}};
  }
};
}  // namespace

template __global__ void exchange_lines<Broken>(const LineArgs);
