// No acquire: what follows may be read from a stale cache.
#include "exchange.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV void acquire() {}
};
}  // namespace

template __global__ void exchange<Broken>(const ExchangeArgs);
