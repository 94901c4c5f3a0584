// Flag words: counter32 | signature32, and how counters compare (invariants 2 and 4 of the design).
// For device and host.
#pragma once

#include <cstdint>

#include "device_platform.h"

namespace weft {

// Counters wrap; `seen` has reached `wanted` when it is not behind by the signed difference.
WEFT_HD constexpr bool reached(uint32_t seen, uint32_t wanted) {
  return int32_t(seen - wanted) >= 0;
}

WEFT_HD constexpr uint64_t flag_word(uint32_t counter, uint32_t signature) {
  return uint64_t(counter) << 32 | signature;
}
WEFT_HD constexpr uint32_t flag_counter(uint64_t word) { return uint32_t(word >> 32); }
WEFT_HD constexpr uint32_t flag_signature(uint64_t word) { return uint32_t(word); }

}  // namespace weft
