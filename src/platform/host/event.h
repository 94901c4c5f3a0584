// Events: a place in a stream, remembered. Owns the handles; an interprocess event also has a pair
// of counters in its device's arena (shared_layout.h), which is what other processes see of it.
#pragma once

#include <hip/hip_runtime_api.h>

#include <memory>
#include <vector>

#include "op.h"
#include "shared_layout.h"

namespace weft::hiphost {
struct Capture;
}  // namespace weft::hiphost

struct ihipEvent_t {
  int device = 0;
  unsigned flags = 0;
  // Below: under streams_lock().
  weft::hiphost::OpRef last;  // the Op that stands for the last record made in this process
  uint64_t last_count = 0;    // its count in `slot`
  weft::hiphost::EventSlot* slot = nullptr;
  std::shared_ptr<void> imported;  // keeps `slot` mapped when another process owns the event
  std::shared_ptr<weft::hiphost::Capture> capture;  // last recorded in this capture
  std::vector<hipGraphNode_t> captured_after;
};

namespace weft::hiphost {

// Under streams_lock().
bool event_is_live(hipEvent_t event);
hipEvent_t new_event(int device, unsigned flags);
// The work of one record of the event, which counts it as enqueued; set_event_op makes the Op its
// last record.
Work record_work(ihipEvent_t& event);
void set_event_op(ihipEvent_t& event, OpRef op);
// What to wait for now: an Op of this process (null: nothing), or, for records of other processes,
// `work` to run first.
struct EventWait {
  OpRef op;
  bool foreign = false;
  Work work;
};
EventWait wait_on(const ihipEvent_t& event);

}  // namespace weft::hiphost
