// The 8-ary tree over contiguous ranges.
#include "bootstrap/tree_shape.h"

#include <algorithm>

namespace weft {
namespace {

// Splits what is below the first rank of `covers`; the first parts are one longer when it does not
// divide.
std::vector<RankRange> split(RankRange covers) {
  const int below = covers.size() - 1;
  const int parts = std::min(below, kTreeArity);
  std::vector<RankRange> children;
  int at = covers.first + 1;
  for (int i = 0; i < parts; i++) {
    const int size = below / parts + (i < below % parts ? 1 : 0);
    children.push_back({at, at + size});
    at += size;
  }
  return children;
}

}  // namespace

TreeShape tree_shape(int rank, int nranks) {
  TreeShape shape;
  shape.rank = rank;
  shape.covers = {0, nranks};
  while (shape.covers.first != rank) {
    shape.parent = shape.covers.first;
    for (const auto& child : split(shape.covers))
      if (child.contains(rank)) {
        shape.covers = child;
        break;
      }
  }
  shape.children = split(shape.covers);
  return shape;
}

int TreeShape::next_hop(int peer) const {
  if (peer == rank) return -1;
  for (const auto& child : children)
    if (child.contains(peer)) return child.first;
  return parent;
}

std::vector<int> tree_path(int from, int to, int nranks) {
  std::vector<int> path;
  for (int at = from; at != to;) {
    at = tree_shape(at, nranks).next_hop(to);
    if (at != to) path.push_back(at);
  }
  return path;
}

}  // namespace weft
