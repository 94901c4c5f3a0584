// A line written in two halves.
#include "lines.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV void store(char* line, const Bytes16& value) {
    auto* half = reinterpret_cast<uint64_t*>(line);
    platform::post64(half, uint64_t(value.w[1]) << 32 | value.w[0]);
    platform::post64(half + 1, uint64_t(value.w[3]) << 32 | value.w[2]);
  }
};
}  // namespace

template __global__ void exchange_lines<Broken>(const LineArgs);
