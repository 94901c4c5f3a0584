// What tests of all patterns share: their list, their names, and which roots to try.
#pragma once

#include <string>
#include <vector>

#include "algorithms/pattern.h"

namespace weft {

inline std::vector<PatternId> all_patterns() {
  std::vector<PatternId> ids;
  for (int i = 0; i < kPatternCount; ++i) ids.push_back(PatternId(i));
  return ids;
}

inline const char* name_of(PatternId id) {
  constexpr const char* kNames[kPatternCount] = {
      "RingAllReduce",    "RingReduceScatter", "RingAllGather",    "RingBroadcast",
      "RingReduce",       "OneShotAllReduce",  "TwoShotAllReduce", "DirectReduceScatter",
      "DirectAllGather",  "DirectAllToAll",    "DirectBroadcast",  "ShardedReduce",
      "DirectGather",     "DirectScatter",     "TreeAllReduce",    "PatAllGather",
      "PatReduceScatter", "OneShotBroadcast",  "OneShotReduce"};
  return kNames[int(id)];
}

// All roots of few places, some of many.
inline std::vector<int> roots(PatternId id, int n) {
  constexpr int kFew = 16;
  if (!is_rooted(pattern_collective(id))) return {0};
  if (n > kFew) return {0, n / 3, n - 1};
  std::vector<int> all;
  for (int root = 0; root < n; ++root) all.push_back(root);
  return all;
}

}  // namespace weft
