// A non-temporal poll: the builtin drops volatile, the loop goes, one scalar load stays.
#include "exchange.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV void wait(const uint64_t* flag, uint64_t wanted) {
    while (__builtin_nontemporal_load(static_cast<const volatile uint64_t*>(flag)) != wanted)
      platform::poll_miss(flag);
  }
};
}  // namespace

template __global__ void exchange<Broken>(const ExchangeArgs);
