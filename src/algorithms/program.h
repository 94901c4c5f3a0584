// What the simulator runs: steps by place and hop, and what they must have done at the end. From a
// pattern, or from a schedule that was read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/pattern.h"
#include "algorithms/sub_steps.h"

namespace weft {

// What an output chunk must hold at the end: chunk `input_chunk` of the inputs of a set of places,
// as a bit mask. An empty set: the chunk must not be written.
struct Expected {
  uint64_t contributions = 0;
  int input_chunk = 0;
};

Expected expected_output(Collective collective, const Spot& at, int chunk);

// One loop of an operation.
struct Program {
  int hops = 0;
  int chunks = 1;
  bool reduces = false;
  // Chunks are segments of one size, so one may be sent as one number and taken as another.
  bool segments = false;
  std::function<Step(int place, int hop)> step;
  std::function<Expected(int place, int chunk)> expected;
};

Program program_of(PatternId id, int n, int root = 0, int channel = 0);

// Hops that send and that receive.
struct Hops {
  int sent = 0, received = 0;
};

// A program, as moves of one place.
struct Moves {
  std::vector<SubStep> all;
  std::vector<Hops> before;  // by hop; one more: in all
  std::string error;         // a step that is wrong by itself; empty: none
};

Moves moves_of(const Program& program, int place, int places);

}  // namespace weft
