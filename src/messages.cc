// Tasks of messages (messages.h).
#include "messages.h"

#include <algorithm>

#include "error.h"
#include "hash.h"
#include "launch_shape.h"

namespace weft {
namespace {

size_t message_bytes(const Request& request) { return request.count * type_bytes(request.type); }
bool is_send(const Request& request) { return request.collective == Collective::kSend; }

// Above, fences and flags of slots cost less than twice the bytes.
constexpr size_t kMostLineBytes = 64 << 10;

void spread(Task& task, const MessageShape& shape, size_t bytes_per_channel) {
  task.channels = uint16_t(std::clamp<size_t>(task.bytes / bytes_per_channel, 1, shape.channels));
  const size_t packs = (task.bytes + kPackBytes - 1) / kPackBytes;
  task.share_packs = packs / task.channels;
  task.longer_shares = uint16_t(packs % task.channels);
}

// All channels for a long message, one for a short one. A message starts at the channel of its
// distance whatever its size: ends that differ in size meet there.
Task make_task(const MessageShape& shape, const Request& request, int distance) {
  Task task{};
  task.from = request.input;
  task.to = request.output;
  task.bytes = message_bytes(request);
  task.peer = request.root;
  task.kind = is_send(request) ? Task::kSend : Task::kRecv;
  task.signature = uint32_t(hash_number(hash_number(1, task.bytes), uint64_t(request.type)));
  const uint32_t apart = std::max(shape.channels / uint32_t(shape.size), 1u);
  task.first_channel = uint16_t(uint32_t(distance) * apart % shape.channels);
  spread(task, shape, platform::kLlBytesPerChannel);
  task.lines = shape.line_packs > 0 && task.bytes <= kMostLineBytes &&
               task.share_packs + (task.longer_shares > 0 ? 1 : 0) <= shape.line_packs;
  if (!task.lines) spread(task, shape, platform::kBytesPerChannel);
  return task;
}

// Of messages to oneself in one of the two directions.
bool is_to_self(const MessageShape& shape, const Request& request, Collective direction) {
  return request.collective == direction && request.root == shape.rank;
}

}  // namespace

void MessageDealer::add_to_others(const MessageShape& shape, std::span<const Request> requests) {
  numbers_.assign(2 * size_t(shape.size), 0);
  for (const Request& request : requests) {
    if (!is_pairwise(request.collective) || request.root == shape.rank) continue;
    const bool send = is_send(request);
    const int sender = send ? shape.rank : request.root;
    const int receiver = send ? request.root : shape.rank;
    const int distance = (receiver - sender + shape.size) % shape.size;
    int& number = numbers_[size_t(request.root + (send ? 0 : shape.size))];
    messages_.push_back({make_task(shape, request, distance), number++, distance, sender});
  }
}

// Copies for messages to oneself, matched in their order.
void MessageDealer::add_to_self(const MessageShape& shape, std::span<const Request> requests) {
  const auto count = [&](Collective direction) {
    return std::ranges::count_if(requests,
                                 [&](const Request& r) { return is_to_self(shape, r, direction); });
  };
  const auto sends = count(Collective::kSend), receives = count(Collective::kRecv);
  if (sends != receives)
    fail(ncclInvalidUsage,
         "rank {} sends {} messages to itself and receives {} in one group: they would never meet",
         shape.rank, sends, receives);
  auto receive = requests.begin();
  int number = 0;
  for (const Request& send : requests) {
    if (!is_to_self(shape, send, Collective::kSend)) continue;
    while (!is_to_self(shape, *receive, Collective::kRecv)) ++receive;
    if (message_bytes(send) != message_bytes(*receive))
      fail(ncclInvalidUsage, "rank {}: {} to itself meets {}", shape.rank, describe(send),
           describe(*receive));
    Task task = make_task(shape, send, 0);
    task.to = (receive++)->output;
    task.kind = Task::kCopy;
    if (task.bytes > 0 && task.from != task.to) messages_.push_back({task, number, 0, shape.rank});
    ++number;
  }
}

const std::vector<TaskBatch>& MessageDealer::deal(const MessageShape& shape,
                                                  std::span<const Request> requests) {
  messages_.clear();
  add_to_others(shape, requests);
  add_to_self(shape, requests);
  std::ranges::sort(messages_, {}, &Message::key);
  tasks_.clear();
  for (const Message& message : messages_) tasks_.push_back(message.task);
  batches_.clear();
  for (size_t first = 0; first < messages_.size(); first += kMaxTasks) {
    const size_t end = std::min(first + kMaxTasks, messages_.size());
    batches_.push_back(
        {{&tasks_[first], end - first}, messages_[end - 1].number - messages_[first].number + 1});
  }
  return batches_;
}

}  // namespace weft
