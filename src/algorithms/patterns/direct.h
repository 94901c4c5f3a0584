// Direct algorithms: every rank reaches every other, so data takes one or two hops whatever the
// number of ranks. The default within a fully connected node.
//
// Vocabulary: n places; chunk q of a loop belongs to place q. A fold takes contributions in the
// order of places and rounds once, so all places hold the same bits.
#pragma once

#include "algorithms/step.h"

namespace weft {

// All-reduce in one shot: everybody sends everything to everybody and folds all.
//   hop 0  send my input to all
//   hop 1  receive all inputs, fold with mine, keep
// One hop of latency; a rank sends n-1 times the buffer.
struct OneShotAllReduce {
  static WEFT_HD constexpr int hops(int) { return 2; }
  static WEFT_HD constexpr int chunks(int) { return 1; }

  static WEFT_HD constexpr Step step(const Spot&, int hop) {
    Step step;
    step.read_input = true;
    if (hop == 0) {
      step.send = Peers::others();
    } else {
      step.recv = Peers::others();
      step.write_output = step.finish = true;
    }
    return step;
  }
};

// All-reduce in two shots: a reduce-scatter and an all-gather.
//   hop 0  send chunk q to place q
//   hop 1  receive my chunk from all, fold with mine, keep, send to all
//   hop 2  receive chunk q from place q, keep
// Two hops of latency; a rank sends 2(n-1)/n of the buffer.
struct TwoShotAllReduce {
  static WEFT_HD constexpr int hops(int) { return 3; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    step.chunk = at.place;
    step.by_peer = hop != 1;
    step.read_input = hop <= 1;
    step.write_output = hop >= 1;
    step.finish = hop == 1;
    if (hop >= 1) step.recv = Peers::others();
    if (hop <= 1) step.send = Peers::others();
    return step;
  }
};

// Reduce-scatter: the first two hops of the two-shot, nothing sent on.
struct DirectReduceScatter {
  static WEFT_HD constexpr int hops(int) { return 2; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    step.chunk = at.place;
    step.read_input = true;
    if (hop == 0) {
      step.by_peer = true;
      step.send = Peers::others();
    } else {
      step.recv = Peers::others();
      step.write_output = step.finish = true;
    }
    return step;
  }
};

// All-gather: send my chunk to all and keep it; receive chunk q from place q.
struct DirectAllGather {
  static WEFT_HD constexpr int hops(int) { return 2; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    step.chunk = at.place;
    step.write_output = true;
    step.read_input = hop == 0;
    step.by_peer = hop == 1;
    (hop == 0 ? step.send : step.recv) = Peers::others();
    return step;
  }
};

// All-to-all: send chunk q of the input to place q, keep my own; receive chunk q of the output from
// place q.
struct DirectAllToAll {
  static WEFT_HD constexpr int hops(int) { return 2; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    step.chunk = at.place;
    step.by_peer = true;
    step.write_output = true;
    step.read_input = hop == 0;
    (hop == 0 ? step.send : step.recv) = Peers::others();
    return step;
  }
};

// Broadcast by scatter and forward: the root's links and everybody else's carry the buffer side by
// side.
//   root    hop k       send chunk q to place q = root+1+k, keep it
//           hop n-1     send its own chunk to all, keep it
//   others  hop 0       receive my chunk, keep, send to all but the root
//           hop 1       receive chunk q from place q, keep
// Two hops of latency; a rank sends at most the buffer once.
struct DirectBroadcast {
  static WEFT_HD constexpr int hops(int n) { return n > 2 ? n : 2; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    if (at.is_root()) {
      if (hop >= at.n) return step;
      step.read_input = step.write_output = true;
      step.chunk = (at.root + 1 + hop) % at.n;
      step.send = step.chunk == at.root ? Peers::others() : Peers::one(step.chunk);
    } else if (hop <= 1) {
      step.chunk = at.place;
      step.write_output = true;
      step.by_peer = hop == 1;
      step.recv = hop == 0 ? Peers::one(at.root) : Peers::others();
      if (hop == 0) step.send = Peers::others_but(at.root);
    }
    return step;
  }
};

// Reduce, sharded: a direct reduce-scatter whose chunks go to the root.
//   hop 0  send chunk q to place q
//   hop 1  receive my chunk from all, fold with mine; the root keeps it, others send it to the root
//   hop 2  root: receive chunk q from place q, keep
// Two hops of latency; the root receives 2(n-1)/n of the buffer.
struct ShardedReduce {
  static WEFT_HD constexpr int hops(int) { return 3; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    step.chunk = at.place;
    if (hop == 2 && !at.is_root()) return step;
    step.by_peer = hop != 1;
    step.read_input = hop <= 1;
    step.finish = hop == 1;
    step.write_output = hop >= 1 && at.is_root();
    if (hop == 0) step.send = Peers::others();
    if (hop >= 1) step.recv = Peers::others();
    if (hop == 1 && !at.is_root()) step.send = Peers::one(at.root);
    return step;
  }
};

// Broadcast in one shot: the root sends everything to all.
struct OneShotBroadcast {
  static WEFT_HD constexpr int hops(int) { return 2; }
  static WEFT_HD constexpr int chunks(int) { return 1; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    if (at.is_root() && hop == 0) {
      step.read_input = step.write_output = true;
      step.send = Peers::others();
    } else if (!at.is_root() && hop == 1) {
      step.write_output = true;
      step.recv = Peers::one(at.root);
    }
    return step;
  }
};

// Reduce in one shot: everybody sends everything to the root, which folds it.
struct OneShotReduce {
  static WEFT_HD constexpr int hops(int) { return 2; }
  static WEFT_HD constexpr int chunks(int) { return 1; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    if (!at.is_root() && hop == 0) {
      step.read_input = true;
      step.send = Peers::one(at.root);
    } else if (at.is_root() && hop == 1) {
      step.read_input = step.write_output = step.finish = true;
      step.recv = Peers::others();
    }
    return step;
  }
};

// Gather: everybody sends to the root, which keeps its own chunk too.
struct DirectGather {
  static WEFT_HD constexpr int hops(int) { return 2; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    step.chunk = at.place;
    if (hop == 0) {
      step.read_input = true;
      if (at.is_root()) {
        step.write_output = true;
      } else {
        step.send = Peers::one(at.root);
      }
    } else if (at.is_root()) {
      step.by_peer = true;
      step.write_output = true;
      step.recv = Peers::others();
    }
    return step;
  }
};

// Scatter: the root sends chunk q to place q and keeps its own.
struct DirectScatter {
  static WEFT_HD constexpr int hops(int) { return 2; }
  static WEFT_HD constexpr int chunks(int n) { return n; }

  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    step.chunk = at.place;
    if (at.is_root() && hop == 0) {
      step.by_peer = true;
      step.read_input = step.write_output = true;
      step.send = Peers::others();
    } else if (!at.is_root() && hop == 1) {
      step.write_output = true;
      step.recv = Peers::one(at.root);
    }
    return step;
  }
};

}  // namespace weft
