// Payload where a line says, said to be constant and so read through the scalar cache.
#include "lines.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV uint32_t payload(const LineArgs& args, const Bytes16& line) {
    using Constant = const __attribute__((address_space(4))) uint32_t;
    return *(Constant*)(args.from + __builtin_amdgcn_readfirstlane(line.w[0]));
  }
};
}  // namespace

template __global__ void exchange_lines<Broken>(const LineArgs);
