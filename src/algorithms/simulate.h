// Runs programs of places on the CPU with marks instead of data, and says whether they are right:
// every output complete, of the right parts and written once, every contribution taken once, every
// message what its receiver expects, nothing read that an operation in place has overwritten, no
// deadlock. Used by tests for every pattern and rank count, and before a schedule that came from
// outside is trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/program.h"

namespace weft {

struct Simulation {
  int places = 1;  // up to 64
  std::vector<Program> programs;
  int loops = 1;  // of each program, one program after the other

  int slices_per_chunk = 1;
  // Instead of slices_per_chunk where chunks differ: of a chunk in a loop, counted over all
  // programs.
  std::function<int(int loop, int chunk)> slices;

  int fifo_slots = 1;  // slices a sender may be ahead of its receiver
  // No credits, two slots a flow, and one counter at each place for the slices that it sends, to
  // whomever, and one for those that it receives: a hop that sends adds one, whether or not there
  // was data. A send never waits, slice k goes to slot k mod 2. An error unless, in every order in
  // which the places may run, what it overwrites was taken before; and unless both ends of a flow
  // count alike.
  bool exchange = false;
  uint64_t seed = 1;  // of the order in which places take their turns
};

struct SimulationResult {
  std::string error;         // empty: right
  int64_t messages = 0;      // slices sent in all
  int64_t longest_path = 0;  // messages that one datum took to its last output, at most
  int64_t most_waiting = 0;  // slices that waited in one flow, at most
};

SimulationResult simulate(const Simulation& simulation);

}  // namespace weft
