// The patterns by number, as a plan names them and a kernel runs them. Adding one: write
// patterns/NAME.h, give it a number and a case here, a simulation in tests/sim, a row in
// registry.cc.
#pragma once

#include <cstdint>

#include "algorithms/patterns/direct.h"
#include "algorithms/patterns/ring.h"

namespace weft {

enum class PatternId : uint8_t {
  kRingAllReduce,
  kRingReduceScatter,
  kRingAllGather,
  kRingBroadcast,
  kRingReduce,
  kOneShotAllReduce,
  kTwoShotAllReduce,
  kDirectReduceScatter,
  kDirectAllGather,
  kDirectAllToAll,
  kDirectBroadcast,
  kShardedReduce,
  kDirectGather,
  kDirectScatter,
};
inline constexpr int kPatternCount = 14;

// Calls f with the pattern itself, an empty value.
template <class F>
WEFT_HD constexpr auto with_pattern(PatternId id, F f) {
  switch (id) {
    case PatternId::kRingAllReduce:
      return f(RingAllReduce{});
    case PatternId::kRingReduceScatter:
      return f(RingReduceScatter{});
    case PatternId::kRingAllGather:
      return f(RingAllGather{});
    case PatternId::kRingBroadcast:
      return f(RingBroadcast{});
    case PatternId::kRingReduce:
      return f(RingReduce{});
    case PatternId::kOneShotAllReduce:
      return f(OneShotAllReduce{});
    case PatternId::kTwoShotAllReduce:
      return f(TwoShotAllReduce{});
    case PatternId::kDirectReduceScatter:
      return f(DirectReduceScatter{});
    case PatternId::kDirectAllGather:
      return f(DirectAllGather{});
    case PatternId::kDirectAllToAll:
      return f(DirectAllToAll{});
    case PatternId::kDirectBroadcast:
      return f(DirectBroadcast{});
    case PatternId::kShardedReduce:
      return f(ShardedReduce{});
    case PatternId::kDirectGather:
      return f(DirectGather{});
    case PatternId::kDirectScatter:
      break;
  }
  return f(DirectScatter{});
}

WEFT_HD constexpr int pattern_hops(PatternId id, int n) {
  return with_pattern(id, [=](auto pattern) { return decltype(pattern)::hops(n); });
}

// Chunks of a loop: how many ways a loop is cut, or which segment of a buffer a chunk lies in.
WEFT_HD constexpr int pattern_chunks(PatternId id, int n) {
  return with_pattern(id, [=](auto pattern) { return decltype(pattern)::chunks(n); });
}

WEFT_HD constexpr Step pattern_step(PatternId id, const Spot& at, int hop) {
  return with_pattern(id, [&](auto pattern) { return decltype(pattern)::step(at, hop); });
}

}  // namespace weft
