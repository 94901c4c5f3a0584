// A line written by an ordinary store, which may stay in a cache of this device.
#include "lines.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV void store(char* line, const Bytes16& value) { platform::store16(line, value); }
};
}  // namespace

template __global__ void exchange_lines<Broken>(const LineArgs);
