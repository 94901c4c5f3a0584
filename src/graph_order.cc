// Captured operations in their order (graph_order.h).
#include "graph_order.h"

#include <algorithm>

#include "hip_check.h"

namespace weft {
namespace {

struct CaptureState {
  CaptureId id = 0;
  hipGraph_t graph = nullptr;
  std::vector<hipGraphNode_t> tail;  // what the stream's next node follows
};

CaptureState capture_of(hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  CaptureState state;
  const hipGraphNode_t* tail = nullptr;
  size_t count = 0;
  hip_check(hipStreamGetCaptureInfo_v2(stream, &status, &state.id, &state.graph, &tail, &count),
            "asking what a stream captures");
  if (status != hipStreamCaptureStatusActive)
    fail(ncclInvalidUsage, "the stream's capture was invalidated by an earlier call");
  state.tail.assign(tail, tail + count);
  return state;
}

void follow_node(hipStream_t stream, hipGraphNode_t node, unsigned how) {
  hip_check(hipStreamUpdateCaptureDependencies(stream, &node, 1, how),
            "ordering a captured operation");
}

}  // namespace

GraphOrder::~GraphOrder() {
  if (side_) (void)side_->wait(std::chrono::milliseconds(0));  // or it is left behind
  if (event_ != nullptr) (void)hipEventDestroy(event_);
}

void GraphOrder::before_captured(hipStream_t stream) {
  forget_ended();
  const CaptureState now = capture_of(stream);
  const auto known = captures_.find(now.id);
  if (known == captures_.end()) return begin_capture(stream, now.graph, now.id, now.tail);
  const hipGraphNode_t last = known->second.last;
  if (last != nullptr && std::find(now.tail.begin(), now.tail.end(), last) == now.tail.end())
    follow_node(stream, last, hipStreamAddCaptureDependencies);
}

void GraphOrder::begin_capture(hipStream_t stream, hipGraph_t graph, CaptureId id,
                               const std::vector<hipGraphNode_t>& tail) {
  holds_.hold(graph, id);
  captures_[id] = {};
  if (!by_event_) return;
  hipGraphNode_t wait = nullptr;
  hip_check(hipGraphAddEventWaitNode(&wait, graph, tail.data(), tail.size(), event()),
            "adding a wait to a graph");
  follow_node(stream, wait, hipStreamSetCaptureDependencies);
}

void GraphOrder::after_captured(hipStream_t stream) {
  const CaptureState now = capture_of(stream);
  Captured& captured = captures_.at(now.id);
  const hipGraphNode_t before = captured.last;
  captured.last = now.tail.front();
  if (!by_event_) return;
  if (captured.record == nullptr) {
    hip_check(hipGraphAddEventRecordNode(&captured.record, now.graph, &captured.last, 1, event()),
              "adding a record to a graph");
    return;
  }
  hip_check(hipGraphRemoveDependencies(now.graph, &before, &captured.record, 1),
            "moving the record of a graph");
  hip_check(hipGraphAddDependencies(now.graph, &captured.last, &captured.record, 1),
            "moving the record of a graph");
}

void GraphOrder::before_eager(hipStream_t stream) {
  if (!by_event_ || !any_live()) return;
  forget_ended();
  hip_check(hipStreamWaitEvent(stream, event(), 0), "waiting for graphs of the communicator");
}

void GraphOrder::after_eager(hipStream_t stream) {
  if (by_event_ && any_live()) record(stream);
}

void GraphOrder::record(hipStream_t stream) {
  hip_check(hipEventRecord(event(), stream), "recording what graphs wait for");
}

hipEvent_t GraphOrder::event() {
  if (event_ == nullptr)
    hip_check(hipEventCreateWithFlags(&event_, hipEventDisableTiming), "making an event");
  return event_;
}

void GraphOrder::forget_ended() {
  for (const CaptureId ended : holds_.take_ended()) captures_.erase(ended);
  if (side_ && side_->idle()) side_.reset();
}

}  // namespace weft
