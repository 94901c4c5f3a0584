// No drain: on gfx9 the barrier does not wait, and the leader waits for its own wave only.
#include "exchange.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV void complete(const Block& block) { block.sync(); }
};
}  // namespace

template __global__ void exchange<Broken>(const ExchangeArgs);
