// Follows a schedule with sums in place of data: which chunk of the own input and which messages
// each value is made of, and who needs it. Owns: that graph. Next: steps.cc puts it in order.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/schedule/schedule.h"

namespace weft {

// What a chunk holds: the sum of an own chunk and of messages.
struct ScheduleSum {
  int own = -1;               // number of the chunk of the input; -1: none
  std::vector<int> messages;  // ascending
  int chunk = 0;              // its number
  auto operator<=>(const ScheduleSum&) const = default;
};

// A value that a place sends or keeps.
struct ScheduleValue {
  int place = 0;
  ScheduleSum sum;
  std::vector<int> sent;       // messages
  int kept_as = -1;            // number of the output chunk
  uint64_t contributions = 0;  // places
};

struct ScheduleMessage {
  int from, to;  // values; `to` -1: nobody has taken it
  int to_place;
};

struct ScheduleGraph {
  std::vector<ScheduleValue> values;
  std::vector<ScheduleMessage> messages;
};

// Of a schedule that check_schedule passed. Throws Error(ncclInvalidUsage) for a message that is a
// part of two values or of none.
ScheduleGraph trace_schedule(const Schedule& schedule);

}  // namespace weft
