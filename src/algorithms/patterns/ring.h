// Ring algorithms: every rank talks to its two neighbours only, so one link each way carries
// everything.
//
// Vocabulary: n places in a circle; place p receives from p-1 and sends to p+1 (mod n). Source: P.
// Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// JPDC 2009.
#pragma once

#include "algorithms/step.h"

namespace weft {

// All-reduce. Two rounds of n-1 sends; chunk c of a loop starts at place c:
//   reduce    hop 0        send my own chunk
//             hop 1..n-2   receive a partial sum, add mine, send it on
//             hop n-1      the sum is complete: keep it and send it on
//   gather    hop n..2n-3  receive a sum, keep it, send it on
//             hop 2n-2     receive the last sum, keep it
// At every hop the chunk is the one that started h places back. Steps 2n-1; each link carries
// 2(n-1)/n of the buffer.
struct RingAllReduce {
  static WEFT_HD constexpr int hops(int n) { return 2 * n - 1; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    const bool first = hop == 0, last = hop == 2 * at.n - 2, complete = hop >= at.n - 1;
    Step step;
    step.recv = first ? Peers::none() : Peers::one(at.previous());
    step.send = last ? Peers::none() : Peers::one(at.next());
    step.read_input = hop <= at.n - 1;
    step.write_output = complete;
    step.finish = hop == at.n - 1;
    step.chunk = (at.place + 2 * at.n - hop) % at.n;
    return step;
  }
};

// Reduce-scatter: the first round of the all-reduce, begun one place later, so that chunk c ends at
// place c. Steps n; each link carries (n-1)/n of the input.
struct RingReduceScatter {
  static WEFT_HD constexpr int hops(int n) { return n; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    const bool first = hop == 0, last = hop == at.n - 1;
    Step step;
    step.recv = first ? Peers::none() : Peers::one(at.previous());
    step.send = last ? Peers::none() : Peers::one(at.next());
    step.read_input = true;
    step.write_output = step.finish = last;
    step.chunk = (at.place + 2 * at.n - 1 - hop) % at.n;
    return step;
  }
};

// All-gather: the second round. Chunk c starts at place c, which keeps it too. Steps n; each link
// carries (n-1)/n of the output.
struct RingAllGather {
  static WEFT_HD constexpr int hops(int n) { return n; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    const bool first = hop == 0, last = hop == at.n - 1;
    Step step;
    step.recv = first ? Peers::none() : Peers::one(at.previous());
    step.send = last ? Peers::none() : Peers::one(at.next());
    step.read_input = first;
    step.write_output = true;
    step.chunk = (at.place + at.n - hop) % at.n;
    return step;
  }
};

// Broadcast: a chain from the root round to the place before it. One step; slices follow one
// another down the chain. Each link carries the buffer once.
struct RingBroadcast {
  static WEFT_HD constexpr int hops(int) { return 1; }
  static WEFT_HD constexpr int chunks(int) { return 1; }

  static WEFT_HD constexpr Step step(const Spot& at, int) {
    Step step;
    step.recv = at.is_root() ? Peers::none() : Peers::one(at.previous());
    step.send = at.next() == at.root ? Peers::none() : Peers::one(at.next());
    step.read_input = at.is_root();
    step.write_output = true;
    return step;
  }
};

// Reduce: a chain from the place after the root round to the root, each adding its own. One step;
// each link carries the buffer once.
struct RingReduce {
  static WEFT_HD constexpr int hops(int) { return 1; }
  static WEFT_HD constexpr int chunks(int) { return 1; }

  static WEFT_HD constexpr Step step(const Spot& at, int) {
    Step step;
    step.recv = at.previous() == at.root ? Peers::none() : Peers::one(at.previous());
    step.send = at.is_root() ? Peers::none() : Peers::one(at.next());
    step.read_input = true;
    step.write_output = step.finish = at.is_root();
    return step;
  }
};

}  // namespace weft
