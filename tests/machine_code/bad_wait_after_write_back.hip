// A fence alone: where this wave stored nothing, the compiler leaves out the wait behind the
// write-back.
#include "exchange.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV void move(const Block&, const ExchangeArgs&) {}
  static WEFT_DEV void release() { __builtin_amdgcn_fence(__ATOMIC_RELEASE, ""); }
};
}  // namespace

template __global__ void exchange<Broken>(const ExchangeArgs);
