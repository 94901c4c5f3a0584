// Sends and receives of a group as tasks of launches (device/pairwise.h). Owns: which channels a
// message takes, messages to oneself, the order in which many messages are cut into launches.
#pragma once

#include <span>
#include <tuple>
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

// What one launch takes.
struct TaskBatch {
  std::span<const Task> tasks;
  int longest_flow;  // no flow has more tasks here
};

// Deals the messages among `requests`, which may hold other calls too. Memory is kept from one deal
// to the next, which ends what the last one gave.
//
// Thread rule: one thread at a time.
class MessageDealer {
 public:
  // Both ends of a message take it at the same place of one order of all messages, so that however
  // ranks cut their lists, the first message that is not done is in the current launch of both.
  // Throws Error(ncclInvalidUsage) when sends to oneself and receives from oneself are not equally
  // many, or differ in size.
  const std::vector<TaskBatch>& deal(const MessageShape& shape, std::span<const Request> requests);

 private:
  // A message with its place in the order that both ends agree on: by its number within its flow,
  // then by distance, then by sender.
  struct Message {
    Task task;
    int number, distance, sender;
    auto key() const { return std::tuple(number, distance, sender); }
  };
  void add_to_others(const MessageShape& shape, std::span<const Request> requests);
  void add_to_self(const MessageShape& shape, std::span<const Request> requests);

  std::vector<Message> messages_;
  std::vector<int> numbers_;  // messages so far by flow: to each peer, then from each
  std::vector<Task> tasks_;
  std::vector<TaskBatch> batches_;
};

}  // namespace weft
