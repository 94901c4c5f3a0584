// The stream calls. Null-stream rule: an Op of the null stream follows everything on the blocking
// streams of its device, and everything enqueued on them later follows it. Next on the path:
// scheduler.cc, or capture.cc while capturing.
#include "stream.h"

#include <algorithm>
#include <unordered_set>

#include "capture.h"
#include "runtime.h"
#include "scheduler.h"

namespace weft::hiphost {
namespace {

constexpr int kLeastPriority = 1;
constexpr int kGreatestPriority = -1;

struct Streams {
  Lock lock;
  std::unordered_set<ihipStream_t*> live;
  // A new stream gets the address of the one destroyed last, as real runtimes may do.
  std::vector<std::unique_ptr<ihipStream_t>> unused;
  std::vector<ihipStream_t*> null_streams;  // by device
  // Last Ops of destroyed streams: device synchronisation and the null stream still see them.
  struct Orphan {
    int device;
    bool blocking;
    OpRef tail;
  };
  std::vector<Orphan> orphans;
  uint64_t next_id = 1;
};
Streams& streams() {
  static Streams* s = new Streams;
  return *s;
}

ihipStream_t* take_unused() {
  auto& unused = streams().unused;
  if (unused.empty()) return new ihipStream_t;
  ihipStream_t* stream = unused.back().release();
  unused.pop_back();
  return stream;
}

ihipStream_t* make_stream(int device, unsigned flags, int priority) {
  ihipStream_t* stream = take_unused();
  stream->device = device;
  stream->flags = flags;
  stream->priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  stream->id = streams().next_id++;
  streams().live.insert(stream);
  return stream;
}

ihipStream_t* null_stream_of(int device) {
  std::vector<ihipStream_t*>& all = streams().null_streams;
  if (all.empty()) all.resize(static_cast<size_t>(device_count()));
  ihipStream_t*& stream = all[static_cast<size_t>(device)];
  if (stream == nullptr) {
    stream = make_stream(device, 0, 0);
    stream->null_stream = true;
  }
  return stream;
}

// A thread's own streams; they stay when it ends, as destroyed ones whose work may still run.
struct PerThread {
  std::vector<ihipStream_t*> by_device;
  ~PerThread() {
    for (ihipStream_t* stream : by_device) {
      if (stream != nullptr) hipStreamDestroy(stream);
    }
  }
};

ihipStream_t* thread_stream_of(int device) {
  thread_local PerThread mine;
  if (mine.by_device.empty()) mine.by_device.resize(static_cast<size_t>(device_count()));
  ihipStream_t*& stream = mine.by_device[static_cast<size_t>(device)];
  if (stream == nullptr) stream = make_stream(device, 0, 0);
  return stream;
}

void prune_orphans() {
  std::erase_if(streams().orphans, [](const Streams::Orphan& o) { return o.tail->done(); });
}

std::vector<OpRef> tails_of(int device, bool blocking_only) {
  std::vector<OpRef> tails;
  for (const ihipStream_t* s : streams().live) {
    if (s->device == device && s->tail != nullptr && (!blocking_only || s->blocking())) {
      tails.push_back(s->tail);
    }
  }
  prune_orphans();
  for (const Streams::Orphan& o : streams().orphans) {
    if (o.device == device && (!blocking_only || o.blocking)) tails.push_back(o.tail);
  }
  return tails;
}

hipError_t wait_for_all(const std::vector<OpRef>& ops) {
  for (const OpRef& op : ops) {
    if (!wait_for(op)) return hipErrorDeinitialized;
  }
  return hipSuccess;
}

hipError_t create(hipStream_t* out, unsigned flags, int priority) {
  return enter([&] {
    if (out == nullptr || (flags != hipStreamDefault && flags != hipStreamNonBlocking)) {
      return hipErrorInvalidValue;
    }
    const std::lock_guard guard(streams_lock());
    *out = make_stream(current_device(), flags, priority);
    return hipSuccess;
  });
}

// Common to query and synchronise: the Ops to look at, or an error.
hipError_t stream_ops(hipStream_t handle, std::vector<OpRef>& ops) {
  StreamUse use(handle);
  if (use.error() != hipSuccess) return use.error();
  if (use.capturing()) {
    use.stream().capture->invalid = true;
    return hipErrorStreamCaptureUnsupported;
  }
  if (use.stream().null_stream) {
    ops = use.order();
  } else {
    ops.push_back(use.stream().tail);
  }
  return hipSuccess;
}

}  // namespace

Lock& streams_lock() { return streams().lock; }

ihipStream_t* resolve_stream(hipStream_t handle) {
  if (handle == nullptr || handle == hipStreamLegacy) return null_stream_of(current_device());
  if (handle == hipStreamPerThread) return thread_stream_of(current_device());
  return streams().live.count(handle) != 0 ? handle : nullptr;
}

std::vector<ihipStream_t*> live_streams() { return {streams().live.begin(), streams().live.end()}; }

StreamUse::StreamUse(hipStream_t handle) : guard_(streams_lock()), stream_(resolve_stream(handle)) {
  if (stream_ == nullptr) {
    error_ = hipErrorContextIsDestroyed;
  } else if (stream_->null_stream && blocking_stream_captures(stream_->device)) {
    error_ = hipErrorStreamCaptureImplicit;
  }
}

std::vector<OpRef> StreamUse::order() const {
  if (stream_->null_stream) return tails_of(stream_->device, true);
  std::vector<OpRef> after = {stream_->tail};
  if (stream_->blocking()) after.push_back(null_stream_of(stream_->device)->tail);
  return after;
}

OpRef StreamUse::enqueue(Work work, const std::vector<OpRef>& more) {
  work.device = stream_->device;
  work.priority = stream_->priority;
  std::vector<OpRef> after = order();
  after.insert(after.end(), more.begin(), more.end());
  stream_->tail = submit(std::move(work), after);
  return stream_->tail;
}

hipError_t StreamUse::add(Work work, hipGraphNodeType type) {
  if (!capturing()) {
    enqueue(std::move(work));
    return hipSuccess;
  }
  if (stream_->capture->invalid) return hipErrorStreamCaptureInvalidated;
  work.device = stream_->device;
  work.priority = stream_->priority;
  add_captured_node(*stream_, std::move(work), type);
  return hipSuccess;
}

hipError_t wait_for_device(int device) {
  std::vector<OpRef> ops;
  {
    const std::lock_guard guard(streams_lock());
    ops = tails_of(device, false);
  }
  return wait_for_all(ops);
}

hipError_t wait_for_null_stream() {
  std::vector<OpRef> ops;
  {
    StreamUse use(nullptr);
    if (use.error() != hipSuccess) return use.error();
    ops = use.order();
  }
  return wait_for_all(ops);
}

}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipStreamCreate(hipStream_t* stream) { return create(stream, 0, 0); }
extern "C" hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return create(stream, flags, 0);
}
extern "C" hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags,
                                                  int priority) {
  return create(stream, flags, priority);
}
extern "C" hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, uint32_t words,
                                                   const uint32_t* mask) {
  if (words == 0 || mask == nullptr) return keep_error(hipErrorInvalidValue);
  return create(stream, 0, 0);
}

extern "C" hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return enter([&] {
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return hipSuccess;
  });
}

extern "C" hipError_t hipStreamDestroy(hipStream_t handle) {
  return enter([&] {
    if (handle == nullptr || handle == hipStreamLegacy) return hipErrorInvalidHandle;
    if (handle == hipStreamPerThread) return hipErrorInvalidResourceHandle;
    const std::lock_guard guard(streams_lock());
    if (streams().live.erase(handle) == 0) return hipErrorContextIsDestroyed;
    leave_capture(*handle);
    prune_orphans();
    if (handle->tail != nullptr && !handle->tail->done()) {
      streams().orphans.push_back({handle->device, handle->blocking(), handle->tail});
    }
    *handle = {};
    streams().unused.emplace_back(handle);
    return hipSuccess;
  });
}

extern "C" hipError_t hipStreamQuery(hipStream_t handle) {
  return enter([&] {
    std::vector<OpRef> ops;
    if (const hipError_t error = stream_ops(handle, ops); error != hipSuccess) return error;
    for (const OpRef& op : ops) {
      if (!check_done(op)) return hipErrorNotReady;
    }
    return hipSuccess;
  });
}

extern "C" hipError_t hipStreamSynchronize(hipStream_t handle) {
  return enter([&] {
    std::vector<OpRef> ops;
    if (const hipError_t error = stream_ops(handle, ops); error != hipSuccess) return error;
    return wait_for_all(ops);
  });
}

extern "C" hipError_t hipDeviceSynchronize(void) {
  return enter([&] {
    if (const hipError_t error = check_nothing_captured(); error != hipSuccess) return error;
    return wait_for_device(current_device());
  });
}

extern "C" hipError_t hipStreamGetFlags(hipStream_t handle, unsigned int* flags) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    const ihipStream_t* stream = resolve_stream(handle);
    if (flags == nullptr || handle == nullptr) return hipErrorInvalidValue;
    if (stream == nullptr) return hipErrorContextIsDestroyed;
    *flags = stream->flags;
    return hipSuccess;
  });
}

extern "C" hipError_t hipStreamGetPriority(hipStream_t handle, int* priority) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    const ihipStream_t* stream = resolve_stream(handle);
    if (priority == nullptr) return hipErrorInvalidValue;
    if (stream == nullptr) return hipErrorContextIsDestroyed;
    *priority = stream->priority;
    return hipSuccess;
  });
}

extern "C" hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t* device) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    const ihipStream_t* stream = resolve_stream(handle);
    if (device == nullptr) return hipErrorInvalidValue;
    if (stream == nullptr) return hipErrorContextIsDestroyed;
    *device = stream->device;
    return hipSuccess;
  });
}

extern "C" hipError_t hipStreamGetId(hipStream_t handle, unsigned long long* id) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    const ihipStream_t* stream = resolve_stream(handle);
    if (id == nullptr) return hipErrorInvalidValue;
    if (stream == nullptr) return hipErrorContextIsDestroyed;
    *id = stream->id;
    return hipSuccess;
  });
}
