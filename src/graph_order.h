// The place of captured operations in the order of their communicator. A graph is launched without
// the library's knowledge, any number of times and on any stream, so its order is built into it.
// Owns: references of graphs on the communicator, the event that orders executions. Does not own:
// the order of eager kernels among themselves (KernelOrder).
//
// Invariants
//  1. Operations of one capture follow one another as they were captured, whatever their streams:
//     an edge leads from each kernel to the next.
//  2. The first one waits for the communicator's event and the last one is followed by a record of
//     it, off the way to whatever the program does next. The runtime binds both when a graph is
//     launched, so executions run in the order in which the program launched them.
//  3. While a graph lives, an eager kernel waits for the event and records it. What was launched
//     before the first capture has no record: a kernel without operations on a stream of our own
//     waits for it by ticket, and the record follows that kernel (launch.cc).
//  4. Hence no two kernels of a communicator run at once, and a word of device/turn.h that one
//     kernel may write has one writer. With NCCL_GRAPH_MIXING_SUPPORT=0 there is no event: the
//     program keeps executions and eager calls apart.
//  5. The order of launches is the program's. It must be the same on all ranks, as for every call.
//     Two threads that launch at the same time have to agree on it.
// Devices do not find an order by themselves: two ranks would meet the same two executions in
// different orders, and take the data of one for that of the other.
//
// Thread rule: under the communicator's launch_mutex, but any_live(): any thread.
#pragma once

#include <hip/hip_runtime.h>

#include <map>
#include <memory>
#include <vector>

#include "graph_holds.h"
#include "side_stream.h"

namespace weft {

class GraphOrder {
 public:
  // `by_event`: invariants 2 and 3 hold, not only 1.
  explicit GraphOrder(bool by_event) : by_event_(by_event) {}
  // No graph lives.
  ~GraphOrder();
  GraphOrder(const GraphOrder&) = delete;
  GraphOrder& operator=(const GraphOrder&) = delete;

  // A graph lives that may run kernels of the communicator.
  bool any_live() const { return holds_.any(); }

  // Around the launch of a kernel on a stream that captures; on the communicator's device.
  void before_captured(hipStream_t stream);
  void after_captured(hipStream_t stream);
  // Around the launch of an eager kernel.
  void before_eager(hipStream_t stream);
  void after_eager(hipStream_t stream);

  // What eager kernels wait for comes after `launch(stream)`, which may wait on the device.
  template <class Launch>
  void order_earlier(Launch launch) {
    if (!by_event_) return;
    forget_ended();
    if (!side_) side_ = std::make_unique<SideStream>();
    launch(side_->get());
    record(side_->get());
  }

 private:
  struct Captured {
    hipGraphNode_t last = nullptr;    // kernel
    hipGraphNode_t record = nullptr;  // of the event, after `last`
  };
  void begin_capture(hipStream_t stream, hipGraph_t graph, CaptureId id,
                     const std::vector<hipGraphNode_t>& tail);
  void record(hipStream_t stream);
  hipEvent_t event();
  // Also gives the side stream back once it has no work.
  void forget_ended();

  const bool by_event_;
  GraphHolds holds_;
  std::map<CaptureId, Captured> captures_;  // whose graphs live
  hipEvent_t event_ = nullptr;              // made with the first record
  std::unique_ptr<SideStream> side_;        // while it may have work
};

}  // namespace weft
