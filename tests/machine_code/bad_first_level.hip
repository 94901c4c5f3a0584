// A bare barrier: where a workgroup spans two first-level caches, one of them stays stale.
#include "exchange.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV void move(const Block& block, const ExchangeArgs& args) {
    __builtin_amdgcn_s_barrier();
    Parts::move(block, args);
  }
};
}  // namespace

template __global__ void exchange<Broken>(const ExchangeArgs);
