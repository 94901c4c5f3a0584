// What one rank does at one hop of an algorithm. A pattern (patterns/*.h) is a pure function that gives the Step of a hop;
// the same text serves the kernel (device/engine.h), the simulator (simulate.h), the cost model and the network proxy.
// Owns: the vocabulary. Does not own: how data moves (protocols) or which bytes a chunk is (chunks.h).
//
// Vocabulary. place: a rank's position in the order the pattern runs in, 0..n-1. chunk: what a hop moves, numbered 0..n-1
// within a loop. hop: one step of the pattern. An operation on a channel runs all hops for loop 0, then for loop 1, ...
#pragma once

#include <cstdint>

#include "device_platform.h"

namespace weft {

// Whom a step receives from or sends to. `all` is every other place, taken in place order.
struct Peers {
  enum class Kind : uint8_t { kNone, kOne, kAll };
  Kind kind = Kind::kNone;
  int16_t place = -1;  // of kOne

  static WEFT_HD constexpr Peers none() { return {}; }
  static WEFT_HD constexpr Peers one(int place) { return {Kind::kOne, int16_t(place)}; }
  static WEFT_HD constexpr Peers all() { return {Kind::kAll, -1}; }
  WEFT_HD constexpr bool any() const { return kind != Kind::kNone; }
};

// A step takes the chunk from `recv` and, when asked, from the input, reduces what it has more than one of, and gives the
// result to the output, when asked, and to `send`.
struct Step {
  Peers recv, send;
  bool read_input = false;    // this rank's contribution takes part (pre-scaled)
  bool write_output = false;  // the result is kept
  bool finish = false;        // the result is final: the post-scale is applied
  int chunk = 0;
};

}  // namespace weft
