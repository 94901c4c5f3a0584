// A flag of workgroup scope, which may stay in this device's cache.
#include "exchange.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV void post(uint64_t* flag, uint64_t value) {
    __hip_atomic_store((WEFT_GLOBAL uint64_t*)flag, value, __ATOMIC_RELAXED,
                       __HIP_MEMORY_SCOPE_WORKGROUP);
  }
};
}  // namespace

template __global__ void exchange<Broken>(const ExchangeArgs);
