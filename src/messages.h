// Sends and receives of a group as tasks of launches (device/pairwise.h). Owns: which channels a
// message takes, messages to oneself, the order in which many messages are cut into launches.
#pragma once

#include <vector>

#include "device/work.h"
#include "request.h"

namespace weft {

// Who asks, and over how many channels messages may be spread.
struct MessageShape {
  int rank, size;
  uint32_t channels;
  uint32_t line_packs;  // of a slot of lines, 0: no message goes by lines
};

// Tasks of one launch each. Both ends of a message take it at the same place of one order of all
// messages, so that however ranks cut their lists, the first message that is not done is in the
// current launch of both. Throws Error(ncclInvalidUsage) when sends to oneself and receives from
// oneself are not equally many, or differ in size.
std::vector<std::vector<Task>> deal_messages(const MessageShape& shape,
                                             const std::vector<Request>& requests);

}  // namespace weft
