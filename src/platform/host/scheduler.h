// Runs Ops when what they follow is done. Owns the workers, the helper threads for host functions,
// and the lock under which the order of Ops is recorded. Does not own streams (stream.cc): they
// only remember their last Op.
#pragma once

#include <vector>

#include "op.h"

namespace weft::hiphost {

struct Config;
class Worker;

void start_scheduler(const Config& config);
const std::vector<Worker*>& workers();

// Runs `work` once every Op of `after` is done (nulls are skipped).
OpRef submit(Work work, const std::vector<OpRef>& after);
// One Op of several that are recorded together.
struct Entry {
  Work work;
  std::vector<size_t> edges;  // earlier entries it follows
  std::vector<OpRef> after;   // other Ops it follows
};
// Entries without edges also follow `heads`. Nothing starts before all are recorded. Gives the Ops
// in order.
std::vector<OpRef> submit_together(std::vector<Entry> entries, const std::vector<OpRef>& heads);

// Blocks the calling host thread. False when the runtime stopped before it was done.
bool wait_for(const OpRef& op);
// done(), and what came before the end of the Op is visible.
bool check_done(const OpRef& op);

// A block of `op` ended (worker.cc).
void block_ended(const OpRef& op);
// hipHostFaultResidentBlocks changed.
void resident_limit_changed();

// At exit: workers finish the lap they are in and never run again. Bounded in time.
void stop_scheduler();
bool scheduler_stopped();

}  // namespace weft::hiphost
