// From messages to launches: part of planner.cc. Owns: which kernel takes a batch of tasks, and
// what it is told.
#pragma once

#include "plan.h"

namespace weft {

MessageShape message_shape(const Communicator& comm);

// All of a group's messages move side by side, whatever their streams: one launch a batch, before
// which the other streams end and after which they go on.
void add_messages(const Communicator& comm, const TaskBatch& batch,
                  std::span<const Request> requests, std::vector<Launch>& launches);

}  // namespace weft
