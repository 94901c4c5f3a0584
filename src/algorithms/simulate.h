// Runs a pattern on the CPU with marks instead of data, and says whether it is right: every output
// complete and written once, every contribution taken once, every message what its receiver
// expects, no deadlock. Used by tests for every pattern and rank count, and before a schedule that
// came from outside is trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "algorithms/step.h"

namespace weft {

// A pattern for the simulator. Sets of places are bit masks, so up to 64 places.
struct Simulation {
  int places = 1;
  int hops = 0;
  std::function<Step(int place, int hop)> step;
  // Which contributions place `place` must find in chunk `chunk` of its output when all is done; 0:
  // it must not write it.
  std::function<uint64_t(int place, int chunk)> expected;

  int loops = 1;
  int slices_per_chunk = 1;
  int fifo_slots = 1;  // slices a sender may be ahead of its receiver
  uint64_t seed = 1;   // of the order in which places take their turns
};

struct SimulationResult {
  std::string error;         // empty: right
  int64_t messages = 0;      // slices sent in all
  int64_t longest_path = 0;  // hops of the longest chain of messages that depend on one another
};

SimulationResult simulate(const Simulation& simulation);

}  // namespace weft
