// Streams: an order of Ops on a device, or a place in a capture. Owns the handles and the rules of
// the legacy null stream. StreamUse is how every call that enqueues something does it, captured or
// not.
#pragma once

#include <hip/hip_runtime_api.h>

#include <memory>
#include <mutex>
#include <vector>

#include "op.h"

namespace weft::hiphost {
struct Capture;
}

struct ihipStream_t {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;
  bool null_stream = false;
  // Below: under streams_lock().
  weft::hiphost::OpRef tail;
  std::shared_ptr<weft::hiphost::Capture> capture;  // null: not capturing
  std::vector<hipGraphNode_t> capture_tail;         // what the next captured node follows

  bool blocking() const { return (flags & hipStreamNonBlocking) == 0; }
};

namespace weft::hiphost {

Lock& streams_lock();

// The stream of a handle under streams_lock(), which is held: null, legacy and per-thread handles
// name the current device's. Null when the handle is not a live stream.
ihipStream_t* resolve_stream(hipStream_t handle);
std::vector<ihipStream_t*> live_streams();

// Holds streams_lock() from construction to destruction.
class StreamUse {
 public:
  explicit StreamUse(hipStream_t handle);

  hipError_t error() const { return error_; }  // the handle is bad, or its capture forbids any use
  ihipStream_t& stream() { return *stream_; }
  int device() const { return stream_->device; }
  bool capturing() const { return stream_->capture != nullptr; }

  // What an Op enqueued now follows: the stream's order and that of the null stream.
  std::vector<OpRef> order() const;
  // Enqueues, or records a node of `type` when the stream captures.
  hipError_t add(Work work, hipGraphNodeType type);
  // Enqueues after the stream's order and `more`; never when capturing. Gives the Op.
  OpRef enqueue(Work work, const std::vector<OpRef>& more = {});
  void set_tail(OpRef op) { stream_->tail = std::move(op); }

 private:
  std::unique_lock<Lock> guard_;
  ihipStream_t* stream_ = nullptr;
  hipError_t error_ = hipSuccess;
};

// Everything enqueued on the device so far. hipErrorDeinitialized when the runtime stops meanwhile.
hipError_t wait_for_device(int device);
// What hipMemcpy and others do first: waits for what the null stream would wait for.
hipError_t wait_for_null_stream();

}  // namespace weft::hiphost
