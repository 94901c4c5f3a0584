// The patterns by number, as a plan names them and a kernel runs them. Adding one: write
// patterns/NAME.h, give it a number here, a simulation in tests/sim, a row in registry.cc.
#pragma once

#include <cstdint>

#include "algorithms/patterns/ring.h"

namespace weft {

enum class PatternId : uint8_t { kRingAllReduce };
inline constexpr int kPatternCount = 1;

WEFT_HD constexpr int pattern_hops(PatternId id, int n) {
  switch (id) {
    case PatternId::kRingAllReduce:
      return RingAllReduce::hops(n);
  }
  return 0;
}

WEFT_HD constexpr Step pattern_step(PatternId id, int place, int n, int hop) {
  switch (id) {
    case PatternId::kRingAllReduce:
      return RingAllReduce::step(place, n, hop);
  }
  return {};
}

}  // namespace weft
