// What a launch is: a kernel, its shape and its arguments. Made by planner.cc, given to the device
// by launch.cc.
#pragma once

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

#include "communicator.h"
#include "device/work.h"
#include "messages.h"
#include "reduction.h"
#include "way.h"

namespace weft {

struct LaunchShape {
  const void* kernel;
  uint32_t grid;
  uint32_t threads;
  size_t scratch_bytes;  // of a block
};
struct Launch : LaunchShape {
  hipStream_t stream = nullptr;
  std::vector<hipStream_t> joined;  // further streams whose work comes before, and after, this
  // The order words are filled in by launch().
  std::variant<OneHopArgs, CollectiveArgs, PairwiseArgs, ShortMessageArgs> args;

  LaunchArgs& common() {
    return std::visit([](auto& args) -> LaunchArgs& { return args; }, args);
  }
  void* argument() {
    return std::visit([](auto& args) -> void* { return &args; }, args);
  }
  void join(hipStream_t other) {
    if (other != stream && std::ranges::find(joined, other) == joined.end())
      joined.push_back(other);
  }
};

// In its place, as arguments are large.
template <class Args>
Launch& add_launch(std::vector<Launch>& launches, const LaunchShape& shape, hipStream_t stream) {
  Launch& launch = launches.emplace_back();
  static_cast<LaunchShape&>(launch) = shape;
  launch.stream = stream;
  launch.args.emplace<Args>();
  return launch;
}

// A request of a collective with all that was decided for it.
struct Planned {
  const Request* request;
  Way way;
  Reduction reduction;
  const void* kernel;

  size_t bytes() const { return request->count * type_bytes(request->type); }
};

// The launches for requests of one communicator: collectives in their order, then messages.
// Requests of collectives that follow one another with the same kernel and stream share a launch;
// broadcasts that do so, or reduces, run side by side in it whatever their streams, as one call. A
// request of no elements is a work of no loops, so that ranks count it too. Owns memory that is
// used again: a repeated call allocates nothing.
//
// Thread rule: under the communicator's launch_mutex.
class Planner {
 public:
  // Until the next plan. Throws Error(ncclInvalidUsage) for messages to oneself that do not match.
  std::vector<Launch>& plan(Communicator& comm, std::span<const Request> requests);

 private:
  std::vector<Launch> launches_;
  std::vector<Planned> row_;  // what runs side by side
  MessageDealer dealer_;
};

}  // namespace weft
