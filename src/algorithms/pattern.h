// The patterns by number, as a plan names them and a kernel runs them. Adding one: write
// patterns/NAME.h, give it a number and a case here, a simulation in tests/sim, a row in
// registry.cc.
#pragma once

#include <cstdint>

#include "algorithms/collective.h"
#include "algorithms/patterns/direct.h"
#include "algorithms/patterns/mapped.h"
#include "algorithms/patterns/pat.h"
#include "algorithms/patterns/ring.h"
#include "algorithms/patterns/tree.h"

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
  kTreeAllReduce,
  kPatAllGather,
  kPatReduceScatter,
  kOneShotBroadcast,
  kOneShotReduce,
};
inline constexpr int kPatternCount = 19;

// What a pattern does.
constexpr Collective pattern_collective(PatternId id) {
  constexpr Collective kCollectives[kPatternCount] = {
      Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
      Collective::kBroadcast, Collective::kReduce,        Collective::kAllReduce,
      Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
      Collective::kAllToAll,  Collective::kBroadcast,     Collective::kReduce,
      Collective::kGather,    Collective::kScatter,       Collective::kAllReduce,
      Collective::kAllGather, Collective::kReduceScatter, Collective::kBroadcast,
      Collective::kReduce};
  return kCollectives[int(id)];
}

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
    case PatternId::kTreeAllReduce:
      return f(TreeAllReduce{});
    case PatternId::kPatAllGather:
      return f(PatAllGather{});
    case PatternId::kPatReduceScatter:
      return f(PatReduceScatter{});
    case PatternId::kOneShotBroadcast:
      return f(OneShotBroadcast{});
    case PatternId::kOneShotReduce:
      return f(OneShotReduce{});
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

// Whether it may run without credits, over two slots a flow that are overwritten in turn, with one
// slice a chunk (LL). Legal where a place, before it sends to another for the third time, has heard
// from that one that it took the first (tests/sim/exchange_test.cc), and all flows of a place carry
// equally many slices, since one counter serves them all. (A tree has the first only.)
constexpr bool exchanges(PatternId id) {
  return id == PatternId::kOneShotAllReduce || id == PatternId::kTwoShotAllReduce ||
         id == PatternId::kDirectReduceScatter || id == PatternId::kDirectAllGather ||
         id == PatternId::kDirectAllToAll;
}

// Whether each place first only sends and then only receives, in two steps (device/one_hop.h).
constexpr bool is_one_hop(PatternId id) {
  return id == PatternId::kOneShotAllReduce || id == PatternId::kDirectReduceScatter ||
         id == PatternId::kDirectAllGather || id == PatternId::kDirectAllToAll ||
         id == PatternId::kOneShotBroadcast || id == PatternId::kOneShotReduce ||
         id == PatternId::kDirectGather || id == PatternId::kDirectScatter;
}

// Kinds of channels: even and odd ones differ in trees.
constexpr int channel_kinds(PatternId id) { return id == PatternId::kTreeAllReduce ? 2 : 1; }

// Slots that a flow with credits must have, as a multiple of the slices of a chunk: fewer may
// deadlock. Most patterns get by with a slot more than a chunk has slices (patterns_test.cc).
constexpr int flow_chunks(PatternId id) {
  const bool aggregates = id == PatternId::kPatAllGather || id == PatternId::kPatReduceScatter;
  return aggregates ? PatOrder::kChunksInFlight : 2;
}

}  // namespace weft
