// Zero-copy algorithms: ranks that reach each other's buffers need no slots between them. To send
// is to write into the peer's output, to receive is to read the peer's input; all ranks have begun
// before the first step and none ends before all have done their last (device/cards.h).
//
// Vocabulary: n places; chunk q belongs to place q. One step each, so nothing is read that another
// place has written, in place or not; only the root copies chunks that nobody else waits for. A
// fold takes contributions in the order of places and rounds once, as direct.h does.
#pragma once

#include "algorithms/collective.h"
#include "algorithms/step.h"

namespace weft {

// Read my chunk of all inputs, fold, write it to all outputs: (n-1)/n of the buffer comes and goes.
struct MappedAllReduce {
  static WEFT_HD constexpr int hops(int) { return 1; }
  static WEFT_HD constexpr Step step(const Spot& at, int) {
    Step step;
    step.chunk = at.place;
    step.read_input = step.write_output = step.finish = true;
    step.recv = step.send = Peers::others();
    return step;
  }
};

struct MappedReduceScatter {
  static WEFT_HD constexpr int hops(int) { return 1; }
  static WEFT_HD constexpr Step step(const Spot& at, int) {
    Step step;
    step.chunk = at.place;
    step.read_input = step.write_output = step.finish = true;
    step.recv = Peers::others();
    return step;
  }
};

struct MappedReduce {
  static WEFT_HD constexpr int hops(int) { return 1; }
  static WEFT_HD constexpr Step step(const Spot& at, int) {
    Step step;
    step.chunk = at.place;
    step.read_input = step.finish = true;
    step.write_output = at.is_root();
    step.recv = Peers::others();
    if (!at.is_root()) step.send = Peers::one(at.root);
    return step;
  }
};

struct MappedAllGather {
  static WEFT_HD constexpr int hops(int) { return 1; }
  static WEFT_HD constexpr Step step(const Spot& at, int) {
    Step step;
    step.chunk = at.place;
    step.read_input = step.write_output = true;
    step.send = Peers::others();
    return step;
  }
};

// A step by peer takes chunk q of the input to chunk `place` of q's output.
struct MappedAllToAll {
  static WEFT_HD constexpr int hops(int) { return 1; }
  static WEFT_HD constexpr Step step(const Spot& at, int) {
    Step step;
    step.chunk = at.place;
    step.read_input = step.write_output = step.by_peer = true;
    step.send = Peers::others();
    return step;
  }
};

// Each place reads its chunk of the root's input, keeps it and writes it to the others; the root
// does so with its own chunk and keeps the rest: all links carry the buffer side by side.
struct MappedBroadcast {
  static WEFT_HD constexpr int hops(int n) { return n; }
  static WEFT_HD constexpr Step step(const Spot& at, int hop) {
    Step step;
    if (hop > 0 && !at.is_root()) return step;
    step.chunk = (at.place + hop) % at.n;
    step.write_output = true;
    step.read_input = at.is_root();
    if (!at.is_root()) step.recv = Peers::one(at.root);
    if (hop == 0) step.send = at.is_root() ? Peers::others() : Peers::others_but(at.root);
    return step;
  }
};

struct MappedGather {
  static WEFT_HD constexpr int hops(int) { return 1; }
  static WEFT_HD constexpr Step step(const Spot& at, int) {
    Step step;
    step.chunk = at.place;
    step.read_input = true;
    step.write_output = at.is_root();
    if (!at.is_root()) step.send = Peers::one(at.root);
    return step;
  }
};

struct MappedScatter {
  static WEFT_HD constexpr int hops(int) { return 1; }
  static WEFT_HD constexpr Step step(const Spot& at, int) {
    Step step;
    if (!at.is_root()) return step;
    step.chunk = at.place;
    step.read_input = step.write_output = step.by_peer = true;
    step.send = Peers::others();
    return step;
  }
};

// Calls f with the pattern itself, an empty value; the collective is not pairwise.
template <class F>
WEFT_HD constexpr auto with_mapped_pattern(Collective collective, F f) {
  switch (collective) {
    case Collective::kAllReduce:
      return f(MappedAllReduce{});
    case Collective::kReduceScatter:
      return f(MappedReduceScatter{});
    case Collective::kReduce:
      return f(MappedReduce{});
    case Collective::kAllGather:
      return f(MappedAllGather{});
    case Collective::kAllToAll:
      return f(MappedAllToAll{});
    case Collective::kGather:
      return f(MappedGather{});
    case Collective::kScatter:
      return f(MappedScatter{});
    default:
      break;
  }
  return f(MappedBroadcast{});
}

constexpr int mapped_hops(Collective collective, int n) {
  return with_mapped_pattern(collective, [=](auto pattern) { return decltype(pattern)::hops(n); });
}
constexpr Step mapped_step(Collective collective, const Spot& at, int hop) {
  return with_mapped_pattern(collective,
                             [&](auto pattern) { return decltype(pattern)::step(at, hop); });
}

// Whether outputs may lie in the inputs. What a place sends in an all-to-all lies where it
// receives.
constexpr bool mapped_in_place(Collective collective) {
  return collective != Collective::kAllToAll;
}

// Which buffers of a place the others read and write.
struct Touched {
  bool input = false, output = false;
};
constexpr Touched touched_by_others(Collective collective, const Spot& at) {
  Touched touched;
  const auto has = [&](const Peers& peers, int self) {
    for (int i = 0; i < peers.candidates(at.n); ++i)
      if (peers.at(i, self) == at.place) return true;
    return false;
  };
  for (int other = 0; other < at.n; ++other)
    for (int hop = 0; other != at.place && hop < mapped_hops(collective, at.n); ++hop) {
      const Step step = mapped_step(collective, {other, at.n, at.root}, hop);
      touched.input |= has(step.recv, other);
      touched.output |= has(step.send, other);
    }
  return touched;
}

}  // namespace weft
