// Tree algorithms: a logarithmic number of hops, two neighbours below and one above.
//
// Vocabulary: n positions 0..n-1, hung into a binary search tree: left is smaller, right is larger,
// and neighbours differ by a power of two. Position 0 is the root and has one child, the largest
// power of two below n. Even positions have children, odd ones are leaves.
//
//        0                   n = 7: 0 - 4 - {2 - {1, 3}, 6 - {5}}
//        `-------4
//            .---^---.
//            2       6
//          .-^-.   .-'
//          1   3   5
//
// Source: P. Sanders, J. Speck and J. L. Traff, "Two-tree algorithms for full bandwidth broadcast,
// reduction and scan", Parallel Computing 2009.
#pragma once

#include "algorithms/step.h"

namespace weft {

struct BinaryTree {
  int n;

  // The lowest set bit: a position's distance to its parent; half of it that to its children.
  static WEFT_HD constexpr int low_bit(int at) { return at & -at; }

  // -1: nobody.
  WEFT_HD constexpr int parent(int at) const {
    if (at == 0) return -1;
    const int low = low_bit(at), inner = (at ^ low) | (low << 1);
    return inner < n ? inner : at ^ low;
  }
  WEFT_HD constexpr int left(int at) const { return low_bit(at) > 1 ? at - low_bit(at) / 2 : -1; }
  WEFT_HD constexpr int right(int at) const {
    int away = at == 0 ? kHighest : low_bit(at) / 2;
    while (away > 0 && at + away >= n) away /= 2;
    return away > 0 ? at + away : -1;
  }

 private:
  static constexpr int kHighest = 1 << 30;
};

// All-reduce over two trees, one for even channels and one for odd. A place that has children in
// one is a leaf of the other, so that over both a place sends and receives the buffer twice.
//   hop 0  up    receive sums from the children, add mine, send to the parent; the root keeps the
//                sum and sends it down at once
//   hop 1  down  receive the sum from the parent, keep it, send it to the children
// 2 ceil(log2 n) hops of latency. A place takes up all slices of a chunk before the first comes
// down, so a flow carries at most one chunk in the time of a way up and down.
struct TreeAllReduce {
  static WEFT_HD constexpr int hops(int) { return 2; }
  static WEFT_HD constexpr int chunks(int) { return 1; }

  // Places by position in the tree of a channel. Odd channels: mirrored, which exchanges odd and
  // even when n is even; moved on by one when n is odd, where place 0 has children in both.
  static WEFT_HD constexpr int position(int place, int n, int channel) {
    if (channel % 2 == 0) return place;
    return n % 2 == 0 ? n - 1 - place : (place + n - 1) % n;
  }
  static WEFT_HD constexpr int place(int position, int n, int channel) {
    if (channel % 2 == 0 || position < 0) return position;
    return n % 2 == 0 ? n - 1 - position : (position + 1) % n;
  }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    const BinaryTree tree{at.n};
    const int me = position(at.place, at.n, at.channel);
    const int parent = place(tree.parent(me), at.n, at.channel);
    Peers children, above;
    children.add(place(tree.left(me), at.n, at.channel));
    children.add(place(tree.right(me), at.n, at.channel));
    above.add(parent);

    const bool is_root = me == 0;
    Step step;
    if (hop == 0) {
      step.recv = children;
      step.send = is_root ? children : above;
      step.read_input = true;
      step.write_output = step.finish = is_root;
    } else if (!is_root) {
      step.recv = above;
      step.send = children;
      step.write_output = true;
    }
    return step;
  }
};

}  // namespace weft
