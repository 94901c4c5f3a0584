// A schedule as steps of the engine (step.h), so that kernels run it like a pattern: one list a
// place, in place of blocks that run side by side. What a place receives waits in its flow until
// the sum that it is a part of is whole; so there is no scratch, and every value is made once and
// given to all who need it. Does not own: the schedule's own meaning (check.cc).
#pragma once

#include <vector>

#include "algorithms/registry.h"
#include "algorithms/schedule/schedule.h"

namespace weft {

struct ScheduleSteps {
  std::string name;
  uint64_t id = 0;  // of the text: equal schedules have equal ones
  Collective collective = Collective::kAllReduce;
  Protocol protocol = Protocol::kSimple;
  int chunks = 1;                        // as of a pattern (pattern_chunks)
  int hops = 0;                          // steps of every place
  int flow_chunks = 1;                   // as of a pattern (pattern.h)
  bool in_rank_order = false;            // folds once, in the order of places
  std::vector<std::vector<Step>> steps;  // by place

  int places() const { return int(steps.size()); }
};

// Of a schedule that check_schedule passed. The result was simulated: it is right in place and out
// of place, whatever the schedule says of itself. Throws Error(ncclInvalidUsage) with the reason
// where steps of the engine cannot say it: a value that is sent as it is and added to later, a
// value for more than three places that are not all others, messages of a pair that are taken in
// another order than they are sent, more than one chunk a rank where a buffer has a part for each
// rank, a protocol that is not there.
ScheduleSteps steps_of(const Schedule& schedule);

// All of it: reads, checks, turns into steps. Throws as read_schedule and steps_of do, and
// Error(ncclInvalidUsage) saying what is wrong with a schedule that does not do what it claims.
ScheduleSteps load_schedule(std::string_view xml);

}  // namespace weft
