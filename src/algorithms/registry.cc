// The rows (registry.h).
#include "algorithms/registry.h"

#include <iterator>

namespace weft {
namespace {

constexpr AlgorithmRow kAlgorithms[] = {
    {"Ring", "Ring", PatternId::kRingAllReduce},
    {"Ring", "Ring", PatternId::kRingReduceScatter},
    {"Ring", "Ring", PatternId::kRingAllGather},
    {"Ring", "Ring", PatternId::kRingBroadcast},
    {"Ring", "Ring", PatternId::kRingReduce},
    {"OneShot", "Direct", PatternId::kOneShotAllReduce},
    {"TwoShot", "Direct", PatternId::kTwoShotAllReduce},
    {"Direct", "Direct", PatternId::kDirectReduceScatter},
    {"Direct", "Direct", PatternId::kDirectAllGather},
    {"Direct", "Direct", PatternId::kDirectAllToAll},
    {"Direct", "Direct", PatternId::kDirectBroadcast},
    {"Sharded", "Direct", PatternId::kShardedReduce},
    {"Direct", "Direct", PatternId::kDirectGather},
    {"Direct", "Direct", PatternId::kDirectScatter},
    {"Tree", "Tree", PatternId::kTreeAllReduce},
    {"PAT", "PAT", PatternId::kPatAllGather},
    {"PAT", "PAT", PatternId::kPatReduceScatter},
    {"OneShot", "Direct", PatternId::kOneShotBroadcast},
    {"OneShot", "Direct", PatternId::kOneShotReduce},
};
static_assert(std::size(kAlgorithms) == size_t(kPatternCount));
static_assert([] {
  for (int i = 0; i < kPatternCount; ++i)
    if (kAlgorithms[i].pattern != PatternId(i)) return false;
  return true;
}());

}  // namespace

std::span<const AlgorithmRow> algorithms() { return kAlgorithms; }

std::string_view protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl:
      return "LL";
    case Protocol::kLl128:
      return "LL128";
    case Protocol::kSimple:
      return "Simple";
  }
  return "?";
}

}  // namespace weft
