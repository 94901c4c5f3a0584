// What a launch is: a kernel, its shape and its arguments. Made by planner.cc, given to the device
// by launch.cc.
#pragma once

#include <variant>
#include <vector>

#include "communicator.h"
#include "device/work.h"

namespace weft {

struct Launch {
  const void* kernel;
  uint32_t grid;
  uint32_t threads;
  size_t scratch_bytes;  // of a block
  hipStream_t stream;
  std::vector<hipStream_t> joined;  // further streams whose work comes before, and after, this
  std::variant<CollectiveArgs, OneHopArgs, PairwiseArgs, ShortMessageArgs>
      args;  // the order words are filled in by launch()

  LaunchArgs& common() {
    return std::visit([](auto& args) -> LaunchArgs& { return args; }, args);
  }
  void* argument() {
    return std::visit([](auto& args) -> void* { return &args; }, args);
  }
};

// The launches for requests of one communicator: collectives in their order, then messages.
// Requests of collectives that follow one another with the same kernel and stream share a launch;
// broadcasts that do so, or reduces, run side by side in it whatever their streams, as one call. A
// request of no elements is a work of no loops, so that ranks count it too. Throws
// Error(ncclInvalidUsage) for messages to oneself that do not match.
std::vector<Launch> plan(Communicator& comm, const std::vector<Request>& requests);

}  // namespace weft
