// Ring algorithms: every rank talks to its two neighbours only, so one link each way carries
// everything.
//
// Vocabulary: n places in a circle; place p receives from p-1 and sends to p+1 (mod n). Chunk c of
// a loop starts at place c. Source: P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations", JPDC 2009.
#pragma once

#include "algorithms/step.h"

namespace weft {

// All-reduce. Two rounds of n-1 sends:
//   reduce    hop 0        send my own chunk
//             hop 1..n-2   receive a partial sum, add mine, send it on
//             hop n-1      the sum is complete: keep it and send it on
//   gather    hop n..2n-3  receive a sum, keep it, send it on
//             hop 2n-2     receive the last sum, keep it
// At every hop the chunk is the one that started h places back. Steps 2n-1; each link carries
// 2(n-1)/n of the buffer.
struct RingAllReduce {
  static WEFT_HD constexpr int hops(int n) { return 2 * n - 1; }

  static WEFT_HD constexpr Step step(int place, int n, int hop) {
    const int previous = place == 0 ? n - 1 : place - 1;
    const int next = place == n - 1 ? 0 : place + 1;
    const bool first = hop == 0, last = hop == 2 * n - 2, complete = hop >= n - 1;
    Step step;
    step.recv = first ? Peers::none() : Peers::one(previous);
    step.send = last ? Peers::none() : Peers::one(next);
    step.read_input = hop <= n - 1;
    step.write_output = complete;
    step.finish = hop == n - 1;
    step.chunk = (place + 2 * n - hop) % n;
    return step;
  }
};

}  // namespace weft
