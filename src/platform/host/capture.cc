// The capture calls and the rules of hip's three modes. Streams join a capture by waiting for an
// event recorded in it and must be joined back before its end. Next on the path: graph.cc.
#include "capture.h"

#include <algorithm>
#include <mutex>

#include "graph.h"
#include "runtime.h"
#include "stream.h"

namespace weft::hiphost {
namespace {

thread_local hipStreamCaptureMode mode_of_thread = hipStreamCaptureModeGlobal;

std::vector<std::shared_ptr<Capture>>& active() {
  static auto* captures = new std::vector<std::shared_ptr<Capture>>;
  return *captures;
}

bool forbids(const Capture& capture) {
  if (capture.mode == hipStreamCaptureModeRelaxed) return false;
  if (mode_of_thread == hipStreamCaptureModeRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return true;
  return mode_of_thread == hipStreamCaptureModeGlobal && capture.mode == hipStreamCaptureModeGlobal;
}

void append_new(std::vector<hipGraphNode_t>& list, const std::vector<hipGraphNode_t>& more) {
  for (hipGraphNode_t node : more) {
    if (std::find(list.begin(), list.end(), node) == list.end()) list.push_back(node);
  }
}

void forget(const std::shared_ptr<Capture>& capture) {
  for (ihipStream_t* stream : capture->streams) {
    stream->capture.reset();
    stream->capture_tail.clear();
  }
  capture->streams.clear();
  capture->ended = true;
  std::erase(active(), capture);
}

// Is `node` among `from` or what they follow?
bool reaches(const std::vector<hipGraphNode_t>& from, hipGraphNode_t node) {
  std::vector<hipGraphNode_t> open = from, seen;
  while (!open.empty()) {
    hipGraphNode_t at = open.back();
    open.pop_back();
    if (at == node) return true;
    if (std::find(seen.begin(), seen.end(), at) != seen.end()) continue;
    seen.push_back(at);
    open.insert(open.end(), at->after.begin(), at->after.end());
  }
  return false;
}

bool all_joined(const Capture& capture) {
  for (const ihipStream_t* stream : capture.streams) {
    if (stream == capture.origin) continue;
    for (hipGraphNode_t node : stream->capture_tail) {
      const auto& free = capture.let_go;
      if (std::find(free.begin(), free.end(), node) != free.end()) continue;
      if (!reaches(capture.origin->capture_tail, node)) return false;
    }
  }
  return true;
}

hipError_t begin(hipStream_t handle, hipStreamCaptureMode mode) {
  static uint64_t next_id = 1;  // under streams_lock()
  if (handle == nullptr || handle == hipStreamLegacy) return hipErrorStreamCaptureUnsupported;
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed) {
    return hipErrorInvalidValue;
  }
  StreamUse use(handle);
  if (use.error() != hipSuccess) return use.error();
  if (use.capturing()) return hipErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->id = next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &use.stream();
  capture->graph = new_graph();
  capture->streams.push_back(&use.stream());
  use.stream().capture = capture;
  use.stream().capture_tail.clear();
  active().push_back(capture);
  return hipSuccess;
}

hipError_t end(hipStream_t handle, hipGraph_t* graph) {
  if (graph == nullptr) return hipErrorInvalidValue;
  if (handle == nullptr || handle == hipStreamLegacy) return hipErrorIllegalState;
  hipGraph_t unwanted = nullptr;  // deleted after the lock: it may run user code
  hipError_t error = hipSuccess;
  {
    StreamUse use(handle);
    if (use.error() != hipSuccess) return use.error();
    if (!use.capturing()) return hipErrorIllegalState;
    const std::shared_ptr<Capture> capture = use.stream().capture;
    if (capture->origin != &use.stream()) {
      capture->invalid = true;
      return hipErrorStreamCaptureUnmatched;
    }
    if (capture->mode != hipStreamCaptureModeRelaxed &&
        capture->thread != std::this_thread::get_id()) {
      return hipErrorStreamCaptureWrongThread;
    }
    if (capture->invalid) {
      error = hipErrorStreamCaptureInvalidated;
    } else if (!all_joined(*capture)) {
      error = hipErrorStreamCaptureUnjoined;
    }
    *graph = error == hipSuccess ? capture->graph : nullptr;
    if (error != hipSuccess) unwanted = capture->graph;
    forget(capture);
  }
  if (unwanted != nullptr) delete_graph(unwanted);
  return error;
}

hipError_t update_dependencies(hipStream_t handle, hipGraphNode_t* nodes, size_t count,
                               unsigned flags) {
  StreamUse use(handle);
  if (use.error() != hipSuccess) return use.error();
  if (!use.capturing()) return hipErrorIllegalState;
  if ((count > 0 && nodes == nullptr) || flags > hipStreamSetCaptureDependencies) {
    return hipErrorInvalidValue;
  }
  Capture& capture = *use.stream().capture;
  if (capture.invalid) return hipErrorStreamCaptureInvalidated;
  std::vector<hipGraphNode_t> given(nodes, nodes + count);
  for (hipGraphNode_t node : given) {
    const auto& all = capture.graph->nodes;
    const bool known = std::any_of(all.begin(), all.end(),
                                   [node](const auto& owned) { return owned.get() == node; });
    if (!known) return hipErrorInvalidValue;
  }
  std::vector<hipGraphNode_t>& tail = use.stream().capture_tail;
  if (flags == hipStreamAddCaptureDependencies) {
    append_new(tail, given);
    return hipSuccess;
  }
  append_new(capture.let_go, tail);
  tail = std::move(given);
  return hipSuccess;
}

hipError_t info(hipStream_t handle, hipStreamCaptureStatus* status, unsigned long long* id,
                hipGraph_t* graph, const hipGraphNode_t** nodes, size_t* count) {
  if (status == nullptr) return hipErrorInvalidValue;
  StreamUse use(handle);
  if (use.error() != hipSuccess) return use.error();
  *status = hipStreamCaptureStatusNone;
  if (!use.capturing()) return hipSuccess;
  const Capture& capture = *use.stream().capture;
  *status = capture.invalid ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive;
  if (capture.invalid) return hipSuccess;
  if (id != nullptr) *id = capture.id;
  if (graph != nullptr) *graph = capture.graph;
  if (nodes != nullptr) *nodes = use.stream().capture_tail.data();
  if (count != nullptr) *count = use.stream().capture_tail.size();
  return hipSuccess;
}

}  // namespace

hipError_t check_not_capturing() {
  const std::lock_guard guard(streams_lock());
  hipError_t error = hipSuccess;
  for (const std::shared_ptr<Capture>& capture : active()) {
    if (!forbids(*capture)) continue;
    capture->invalid = true;
    error = hipErrorStreamCaptureUnsupported;
  }
  return error;
}

hipError_t check_nothing_captured() {
  if (const hipError_t error = check_not_capturing(); error != hipSuccess) return error;
  const std::lock_guard guard(streams_lock());
  return active().empty() ? hipSuccess : hipErrorStreamCaptureUnsupported;
}

hipGraphNode_t add_captured_node(ihipStream_t& stream, Work work, hipGraphNodeType type) {
  hipGraphNode_t node =
      add_node(*stream.capture->graph, std::move(work), type, stream.capture_tail);
  stream.capture_tail = {node};
  return node;
}

void join_capture(ihipStream_t& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<hipGraphNode_t>& after) {
  if (stream.capture == nullptr) {
    stream.capture = capture;
    stream.capture_tail.clear();
    capture->streams.push_back(&stream);
  }
  append_new(stream.capture_tail, after);
}

void leave_capture(ihipStream_t& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return;
  if (capture->origin == &stream) {
    const hipGraph_t graph = capture->graph;
    forget(capture);
    delete_graph(graph);
    return;
  }
  for (hipGraphNode_t node : stream.capture_tail) {
    if (!reaches(capture->origin->capture_tail, node)) capture->invalid = true;
  }
  std::erase(capture->streams, &stream);
  stream.capture.reset();
}

bool blocking_stream_captures(int device) {
  for (const std::shared_ptr<Capture>& capture : active()) {
    for (const ihipStream_t* stream : capture->streams) {
      if (stream->device == device && stream->blocking()) {
        capture->invalid = true;
        return true;
      }
    }
  }
  return false;
}

}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return enter([&] { return begin(stream, mode); });
}
extern "C" hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return enter([&] { return end(stream, graph); });
}
extern "C" hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return enter([&] { return info(stream, status, nullptr, nullptr, nullptr, nullptr); });
}
extern "C" hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                              unsigned long long* id) {
  return enter([&] { return info(stream, status, id, nullptr, nullptr, nullptr); });
}
extern "C" hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status,
                                                 unsigned long long* id, hipGraph_t* graph,
                                                 const hipGraphNode_t** nodes, size_t* count) {
  return enter([&] { return info(stream, status, id, graph, nodes, count); });
}
extern "C" hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t* nodes,
                                                         size_t count, unsigned int flags) {
  return enter([&] { return update_dependencies(stream, nodes, count, flags); });
}

extern "C" hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return enter([&] {
    if (mode == nullptr || *mode < hipStreamCaptureModeGlobal ||
        *mode > hipStreamCaptureModeRelaxed) {
      return hipErrorInvalidValue;
    }
    std::swap(*mode, mode_of_thread);
    return hipSuccess;
  });
}
