// Parallel aggregated trees: all-gather and reduce-scatter over a logarithmic number of neighbours,
// for places that do not all reach each other, or are too many for it.
//
// Vocabulary: chunk c has a tree of its own (tree.h) whose position d is place c+d (mod n), so that
// all places do the same at the same hop: at the hop of position d, place p handles chunk p-d.
// A place talks to places at distances of powers of two only.
//
// The order of positions. Level by level would take log2 n rounds and have n/4 chunks wait in one
// flow. So: full subtrees of at most kSubtree positions go level by level, and what is above them
// goes top-down, the right subtree before the left. Then at most kChunksInFlight chunks wait in a
// flow whatever n, and every flow is received in the order in which it was sent.
//
// Steps n; a place sends and receives n-1 chunks. Latency: log2 n hops up to 16 places, about n/4
// above. Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at
// scale", 2025.
#pragma once

#include "algorithms/patterns/tree.h"

namespace weft {

struct PatOrder {
  static constexpr int kSubtree = 15;
  static constexpr int kChunksInFlight = (kSubtree + 1) / 4;  // of the last but one level

  // The position that has its turn at `turn` of 0..n-1. Position 0 is first.
  static WEFT_HD constexpr int position(int turn, int n) {
    if (turn == 0) return 0;
    const BinaryTree tree{n};
    int at = tree.right(0);
    for (--turn;; --turn) {
      const int low = BinaryTree::low_bit(at), full = 2 * low - 1;
      if (full <= kSubtree && at + low <= n) return at - low + by_level(turn, low);
      if (turn == 0) return at;
      const int right = (at + low < n ? at + low : n) - 1 - at;  // positions
      if (turn <= right) {
        at = tree.right(at);
      } else {
        turn -= right;
        at = tree.left(at);
      }
    }
  }

 private:
  // Of a full tree over 1 .. 2*top-1.
  static WEFT_HD constexpr int by_level(int turn, int top) {
    int first = 0;  // turn of the level's first
    for (; turn >= 2 * first + 1; top /= 2) first = 2 * first + 1;
    return top * (2 * (turn - first) + 1);
  }
};

struct PatPosition {
  int chunk;
  Peers above, below;

  WEFT_HD constexpr PatPosition(const Spot& spot, int turn) : chunk(0) {
    const BinaryTree tree{spot.n};
    const int at = PatOrder::position(turn, spot.n);
    chunk = (spot.place + spot.n - at) % spot.n;
    above.add(place(spot, tree.parent(at)));
    below.add(place(spot, tree.left(at)));
    below.add(place(spot, tree.right(at)));
  }

 private:
  WEFT_HD constexpr int place(const Spot& spot, int position) const {
    return position < 0 ? -1 : (chunk + position) % spot.n;
  }
};

// All-gather: receive a chunk from above, keep it, send it to those below.
struct PatAllGather {
  static WEFT_HD constexpr int hops(int n) { return n; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    const PatPosition position(at, hop);
    Step step;
    step.chunk = position.chunk;
    step.recv = position.above;
    step.send = position.below;
    step.read_input = hop == 0;
    step.write_output = true;
    return step;
  }
};

// Reduce-scatter: the all-gather backwards. Receive partial sums from below, add mine, send the sum
// up; the last hop keeps it.
struct PatReduceScatter {
  static WEFT_HD constexpr int hops(int n) { return n; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    const PatPosition position(at, at.n - 1 - hop);
    Step step;
    step.chunk = position.chunk;
    step.recv = position.below;
    step.send = position.above;
    step.read_input = true;
    step.write_output = step.finish = hop == at.n - 1;
    return step;
  }
};

}  // namespace weft
