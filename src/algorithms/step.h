// What one rank does at one hop of an algorithm. A pattern (patterns/*.h) is a pure function that
// gives the Step of a hop; the same text serves the kernel (device/engine.h), the simulator
// (simulate.h), the cost model and the network proxy. Owns: the vocabulary. Does not own: how data
// moves (protocols) or which bytes a chunk is (chunks.h).
//
// Vocabulary. place: a rank's position in the pattern, 0..n-1; here the rank itself. chunk: what a
// hop moves, numbered 0..n-1 within a loop. hop: one step of the pattern. An operation on a channel
// runs all hops for loop 0, then for loop 1, ...
#pragma once

#include <cstdint>

#include "device_platform.h"

namespace weft {

// Where a pattern is asked: `place` of `n`, the root of a rooted collective, and the channel, for
// patterns whose channels differ (tree.h).
struct Spot {
  int place, n, root;
  int channel = 0;

  WEFT_HD constexpr int next() const { return place == n - 1 ? 0 : place + 1; }
  WEFT_HD constexpr int previous() const { return place == 0 ? n - 1 : place - 1; }
  WEFT_HD constexpr bool is_root() const { return place == root; }
};

// Whom a step receives from or sends to: nobody, one to three places, or all others but one.
class Peers {
 public:
  static constexpr int kMost = 3;

  static WEFT_HD constexpr Peers none() { return {}; }
  static WEFT_HD constexpr Peers one(int place) {
    Peers peers;
    peers.add(place);
    return peers;
  }
  static WEFT_HD constexpr Peers others() { return others_but(-1); }
  static WEFT_HD constexpr Peers others_but(int place) {
    Peers peers;
    peers.count_ = kOthers;
    peers.set(0, place);
    return peers;
  }
  // Of few: in the order in which they are added. -1: nobody.
  WEFT_HD constexpr void add(int place) {
    if (place >= 0) set(count_++, place);
  }

  WEFT_HD constexpr bool any() const { return count_ != 0; }
  WEFT_HD constexpr bool is_one() const { return count_ == 1; }
  WEFT_HD constexpr bool is_others() const { return count_ == kOthers; }
  WEFT_HD constexpr int only() const { return get(0); }

  // Candidates i = 0 .. candidates(n)-1, some of which are nobody: at() is -1 for the asking place
  // and for the one left out. The candidates of others() are all places in order.
  WEFT_HD constexpr int candidates(int n) const { return is_others() ? n : count_; }
  WEFT_HD constexpr int at(int i, int self) const {
    if (!is_others()) return get(i);
    return i == self || i == get(0) ? -1 : i;
  }

 private:
  static constexpr int kOthers = -1;
  // In one word: a kernel keeps it in registers whatever the index.
  static constexpr int kBits = 16;
  WEFT_HD constexpr int get(int i) const { return int16_t(places_ >> (i * kBits)); }
  WEFT_HD constexpr void set(int i, int place) {
    const uint64_t mask = uint64_t(0xffff) << (i * kBits);
    places_ = (places_ & ~mask) | (uint64_t(uint16_t(place)) << (i * kBits));
  }

  int16_t count_ = 0;
  uint64_t places_ = ~uint64_t(0);  // none
};

// A step takes the chunk from `recv` and, when asked, from the input, reduces what it has more than
// one of, and gives the result to the output, when asked, and to `send`.
struct Step {
  Peers recv, send;
  bool read_input = false;    // this rank's contribution takes part (pre-scaled)
  bool write_output = false;  // the result is kept
  bool finish = false;        // reduces, and the result is final: the post-scale is applied
  // Each peer has a chunk of its own, and nothing is reduced. What goes to place q is chunk q of
  // the input; what comes from place q is chunk q of the output. A step that sends and writes also
  // copies its own chunk. A step by peer sends or receives, not both.
  bool by_peer = false;
  // In the lists that kernels run (step_tables.h), where a step by peer has become one step a peer:
  // the last of a hop that sends, or receives.
  bool counts_sent = false, counts_received = false;
  int chunk = 0;
};

}  // namespace weft
