// The event calls. A record enqueues a point; waiting is a dependency on that point. For
// interprocess events the record also counts in shared memory, and a wait for a record of another
// process is a fiber that polls the count. Next on the path: ipc.cc for their handles.
#include "event.h"

#include <mutex>
#include <unordered_set>

#include "capture.h"
#include "graph.h"
#include "ipc.h"
#include "runtime.h"
#include "scheduler.h"
#include "stream.h"

namespace weft::hiphost {
namespace {

constexpr unsigned kKnownFlags = hipEventBlockingSync | hipEventDisableTiming |
                                 hipEventInterprocess | hipEventDisableSystemFence |
                                 hipEventReleaseToDevice | hipEventReleaseToSystem;
constexpr double kNsPerMs = 1e6;
constexpr int64_t kForeignLookNs = 100000;

std::unordered_set<hipEvent_t>& live_events() {
  static auto* events = new std::unordered_set<hipEvent_t>;
  return *events;
}

// Counts only rise, whatever order records of several streams happen in.
void count_completed(EventSlot& slot, uint64_t count) {
  uint64_t seen = slot.completed.load();
  while (seen < count && !slot.completed.compare_exchange_weak(seen, count)) {
  }
  hipHostNotify(&slot.completed);
}

hipError_t record(hipEvent_t event, hipStream_t handle, unsigned flags) {
  if (event == nullptr) return hipErrorInvalidHandle;
  if (flags != hipEventRecordDefault && flags != hipEventRecordExternal)
    return hipErrorInvalidValue;
  StreamUse use(handle);
  if (!event_is_live(event)) return hipErrorInvalidHandle;
  if (use.error() != hipSuccess) return use.error();
  ihipStream_t& stream = use.stream();
  if (!use.capturing()) {
    if (stream.device != event->device) return hipErrorInvalidHandle;
    event->capture.reset();
    set_event_op(*event, use.enqueue(record_work(*event)));
    return hipSuccess;
  }
  if (stream.capture->invalid) return hipErrorStreamCaptureInvalidated;
  if (flags == hipEventRecordExternal) {
    hipGraphNode_t node = add_captured_node(stream, Work{}, hipGraphNodeTypeEventRecord);
    set_node_event(node, event);
    return hipSuccess;
  }
  event->capture = stream.capture;
  event->captured_after = stream.capture_tail;
  return hipSuccess;
}

// hipStreamWaitEvent on an event whose last record was captured.
hipError_t wait_captured(ihipStream_t& stream, const ihipEvent_t& event) {
  if (event.capture->invalid) return hipErrorStreamCaptureInvalidated;
  if (stream.null_stream) return hipErrorStreamCaptureImplicit;
  if (stream.capture != nullptr && stream.capture != event.capture) {
    stream.capture->invalid = event.capture->invalid = true;
    return hipErrorStreamCaptureMerge;
  }
  join_capture(stream, event.capture, event.captured_after);
  return hipSuccess;
}

hipError_t wait_in_stream(hipStream_t handle, hipEvent_t event, unsigned flags) {
  if (event == nullptr) return hipErrorInvalidHandle;
  if (flags != hipEventWaitDefault && flags != hipEventWaitExternal) return hipErrorInvalidValue;
  StreamUse use(handle);
  if (!event_is_live(event)) return hipErrorInvalidHandle;
  if (use.error() == hipErrorContextIsDestroyed) return use.error();
  ihipStream_t& stream = use.stream();
  const bool captured = event->capture != nullptr && !event->capture->ended;
  if (captured && flags == hipEventWaitDefault) return wait_captured(stream, *event);
  if (use.error() != hipSuccess) return use.error();
  if (use.capturing()) {
    if (stream.capture->invalid) return hipErrorStreamCaptureInvalidated;
    if (flags == hipEventWaitExternal) {
      hipGraphNode_t node = add_captured_node(stream, Work{}, hipGraphNodeTypeWaitEvent);
      set_node_event(node, event);
      return hipSuccess;
    }
    if (event->last == nullptr && event->slot == nullptr) return hipSuccess;
    stream.capture->invalid = true;
    return hipErrorStreamCaptureIsolation;
  }
  EventWait wait = wait_on(*event);
  if (wait.foreign) {
    use.enqueue(std::move(wait.work));
  } else if (!(wait.op == nullptr || (wait.op->done() && !sanitize::kThread))) {
    use.enqueue(Work{}, {wait.op});
  }
  return hipSuccess;
}

// Under streams_lock(): may the host look at the event now?
hipError_t check_host_use(hipEvent_t event) {
  if (event == nullptr || !event_is_live(event)) return hipErrorInvalidHandle;
  if (event->capture != nullptr && !event->capture->ended) {
    event->capture->invalid = true;
    return hipErrorCapturedEvent;
  }
  return hipSuccess;
}

bool foreign_done(const ihipEvent_t& event) {
  return event.slot->completed.load() >= event.slot->recorded.load();
}

}  // namespace

bool event_is_live(hipEvent_t event) { return live_events().count(event) != 0; }

hipEvent_t new_event(int device, unsigned flags) {
  auto* event = new ihipEvent_t;
  event->device = device;
  event->flags = flags;
  live_events().insert(event);
  return event;
}

Work record_work(ihipEvent_t& event) {
  Work work;
  work.device = event.device;
  if (event.slot == nullptr) return work;
  event.last_count = event.slot->recorded.fetch_add(1) + 1;
  work.kind = Work::Kind::kQuick;
  work.body = [slot = event.slot, count = event.last_count, keep = event.imported] {
    count_completed(*slot, count);
  };
  return work;
}

void set_event_op(ihipEvent_t& event, OpRef op) { event.last = std::move(op); }

EventWait wait_on(const ihipEvent_t& event) {
  EventWait wait;
  if (event.slot == nullptr) {
    wait.op = event.last;
    return wait;
  }
  const uint64_t target = event.slot->recorded.load();
  if (event.last != nullptr && event.last_count == target) {
    wait.op = event.last;
    return wait;
  }
  wait.foreign = true;
  wait.work.kind = Work::Kind::kFiber;
  wait.work.body = [slot = event.slot, target, keep = event.imported] {
    while (slot->completed.load() < target) hipHostPollMiss(&slot->completed);
    hipHostPollHit();
  };
  return wait;
}

}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int flags) {
  return enter([&] {
    if (event == nullptr || (flags & ~kKnownFlags) != 0) return hipErrorInvalidValue;
    if ((flags & hipEventInterprocess) != 0 && (flags & hipEventDisableTiming) == 0) {
      return hipErrorInvalidValue;
    }
    EventSlot* slot = nullptr;
    if ((flags & hipEventInterprocess) != 0) {
      slot = take_event_slot(current_device());
      if (slot == nullptr) return hipErrorOutOfMemory;
    }
    const std::lock_guard guard(streams_lock());
    *event = new_event(current_device(), flags);
    (*event)->slot = slot;
    return hipSuccess;
  });
}
extern "C" hipError_t hipEventCreate(hipEvent_t* event) {
  return hipEventCreateWithFlags(event, hipEventDefault);
}

extern "C" hipError_t hipEventDestroy(hipEvent_t event) {
  return enter([&] {
    std::unique_ptr<ihipEvent_t> gone;
    const std::lock_guard guard(streams_lock());
    if (event == nullptr || live_events().erase(event) == 0) return hipErrorInvalidHandle;
    gone.reset(event);
    if (event->slot != nullptr) drop_event_slot(*event);
    return hipSuccess;
  });
}

extern "C" hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return enter([&] { return record(event, stream, hipEventRecordDefault); });
}
extern "C" hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream,
                                              unsigned int flags) {
  return enter([&] { return record(event, stream, flags); });
}
extern "C" hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags) {
  return enter([&] { return wait_in_stream(stream, event, flags); });
}

extern "C" hipError_t hipEventQuery(hipEvent_t event) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    if (const hipError_t error = check_host_use(event); error != hipSuccess) return error;
    if (event->slot != nullptr && !foreign_done(*event)) return hipErrorNotReady;
    const OpRef op = event->last;
    if (op != nullptr && !op->done()) return hipErrorNotReady;
    sanitize::ignore_end();  // the lock hides edges; this one is the program's
    check_done(op);
    sanitize::ignore_begin();
    return hipSuccess;
  });
}

extern "C" hipError_t hipEventSynchronize(hipEvent_t event) {
  return enter([&] {
    OpRef op;
    EventSlot* slot = nullptr;
    {
      const std::lock_guard guard(streams_lock());
      if (const hipError_t error = check_host_use(event); error != hipSuccess) return error;
      op = event->last;
      slot = event->slot;
    }
    if (!wait_for(op)) return hipErrorDeinitialized;
    if (slot == nullptr) return hipSuccess;
    const uint64_t target = slot->recorded.load();
    const Word never{0};
    while (slot->completed.load() < target) {
      if (scheduler_stopped()) return hipErrorDeinitialized;
      futex_wait(never, 0, kForeignLookNs);
    }
    return hipSuccess;
  });
}

extern "C" hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  return enter([&] {
    if (ms == nullptr) return hipErrorInvalidValue;
    const std::lock_guard guard(streams_lock());
    if (start == nullptr || stop == nullptr || !event_is_live(start) || !event_is_live(stop)) {
      return hipErrorInvalidHandle;
    }
    if (start->device != stop->device || start->last == nullptr || stop->last == nullptr ||
        ((start->flags | stop->flags) & hipEventDisableTiming) != 0) {
      return hipErrorInvalidHandle;
    }
    if (!start->last->done() || !stop->last->done()) return hipErrorNotReady;
    *ms = static_cast<float>(static_cast<double>(stop->last->done_ns - start->last->done_ns) /
                             kNsPerMs);
    return hipSuccess;
  });
}
