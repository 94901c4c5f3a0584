// Capture: streams that record nodes of a graph instead of running. Owns which calls are forbidden
// meanwhile and to whom.
#pragma once

#include <hip/hip_runtime_api.h>

#include <memory>
#include <thread>
#include <vector>

#include "op.h"

struct ihipStream_t;

namespace weft::hiphost {

struct Capture {
  uint64_t id = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  std::thread::id thread;
  ihipStream_t* origin = nullptr;
  hipGraph_t graph = nullptr;
  bool invalid = false;
  bool ended = false;
  std::vector<ihipStream_t*> streams;  // the origin and what joined
  std::vector<hipGraphNode_t>
      let_go;  // removed by hipStreamUpdateCaptureDependencies: need not be joined
};

// hipErrorStreamCaptureUnsupported, and the captures concerned become invalid, when the calling
// thread must not make an unsafe call (allocation, synchronous copy) now. Takes streams_lock().
hipError_t check_not_capturing();
// The same for calls that no capture anywhere permits (hipDeviceSynchronize).
hipError_t check_nothing_captured();

// The rest under streams_lock().
hipGraphNode_t add_captured_node(ihipStream_t& stream, Work work, hipGraphNodeType type);
void join_capture(ihipStream_t& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<hipGraphNode_t>& after);
// A stream is destroyed: an origin ends its capture, another only leaves.
void leave_capture(ihipStream_t& stream);
bool blocking_stream_captures(int device);

}  // namespace weft::hiphost
