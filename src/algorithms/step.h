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

// Whom a step receives from or sends to: nobody or one place.
struct Peers {
  int16_t place = -1;

  static WEFT_HD constexpr Peers none() { return {}; }
  static WEFT_HD constexpr Peers one(int place) { return {int16_t(place)}; }
  WEFT_HD constexpr bool any() const { return place >= 0; }
};

// A step takes the chunk from `recv` and, when asked, from the input, reduces what it has more than
// one of, and gives the result to the output, when asked, and to `send`.
struct Step {
  Peers recv, send;
  bool read_input = false;    // this rank's contribution takes part (pre-scaled)
  bool write_output = false;  // the result is kept
  bool finish = false;        // reduces, and the result is final: the post-scale is applied
  int chunk = 0;
};

}  // namespace weft
