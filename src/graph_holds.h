// References that graphs hold on a communicator: one for each capture in which it recorded
// something. A reference ends when the graph, all copies of it and all that was instantiated from
// them are destroyed and no longer run. Owns: the count. The runtime says so on a thread of its own
// where no HIP call is allowed, so nothing is given back there; whoever looks here next does it. A
// runtime that cannot say so (HIP before 5.3) leaves the reference for ever.
//
// Thread rule: any thread.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace weft {

using CaptureId = unsigned long long;  // of the runtime, never used twice

class GraphHolds {
 public:
  GraphHolds();

  // `graph`, which is being captured, holds a reference. Throws Error.
  void hold(hipGraph_t graph, CaptureId capture);
  bool any() const;
  // Captures whose references ended since the last call.
  std::vector<CaptureId> take_ended();

 private:
  struct State;
  struct Reference;
  std::shared_ptr<State> state_;  // shared with the references
};

}  // namespace weft
