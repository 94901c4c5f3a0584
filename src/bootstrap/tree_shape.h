// Who is whose parent, for any number of ranks. Owns: the shape of the tree, and which way a
// message goes. Pure. A node covers the ranks [first, last), is itself `first`, and splits the
// others evenly among up to kTreeArity children.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

// 8: 1000 ranks are 4 hops deep and a rank holds at most 9 connections.
constexpr int kTreeArity = 8;

struct RankRange {
  int first = 0, last = 0;
  bool contains(int rank) const { return first <= rank && rank < last; }
  int size() const { return last - first; }
  bool operator==(const RankRange&) const = default;
};

struct TreeShape {
  int rank = 0;
  int parent = -1;
  RankRange covers;                 // this rank and all below it
  std::vector<RankRange> children;  // child i is rank children[i].first
  // The neighbour on the way to `peer`; -1 when peer is this rank.
  int next_hop(int peer) const;
};

TreeShape tree_shape(int rank, int nranks);
// The ranks a message from `from` to `to` passes, both ends left out.
std::vector<int> tree_path(int from, int to, int nranks);

}  // namespace weft
