// Tasks of messages (messages.h).
#include "messages.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "error.h"
#include "hash.h"
#include "launch_shape.h"

namespace weft {
namespace {

size_t bytes_of(const Request& request) { return request.count * type_bytes(request.type); }
bool is_send(const Request& request) { return request.collective == Collective::kSend; }

// A message with its place in the order that both ends agree on: by its number within its flow,
// then by distance, then by sender.
struct Message {
  Task task;
  int number, distance, sender;
  auto key() const { return std::tuple(number, distance, sender); }
};

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
  task.bytes = bytes_of(request);
  task.peer = request.root;
  task.kind = is_send(request) ? Task::kSend : Task::kRecv;
  task.signature = uint32_t(hash_number(hash_number(1, task.bytes), uint64_t(request.type)));
  const uint32_t apart = std::max(shape.channels / uint32_t(shape.size), 1u);
  task.first_channel = uint16_t(uint32_t(distance) * apart % shape.channels);
  spread(task, shape, platform::kLlBytesPerChannel);
  task.lines = shape.line_packs > 0 && task.bytes <= kMostLineBytes &&
               task.share_packs + (task.longer_shares > 0 ? 1 : 0) <= shape.line_packs;
  if (!task.lines) spread(task, shape, platform::kBytesPerChannel);
  task.after = -1;
  return task;
}

std::vector<Message> to_others(const MessageShape& shape, const std::vector<Request>& requests) {
  std::map<std::pair<int, bool>, int> numbers;  // by flow
  std::vector<Message> messages;
  for (const Request& request : requests) {
    if (request.root == shape.rank) continue;
    const bool send = is_send(request);
    const int sender = send ? shape.rank : request.root;
    const int receiver = send ? request.root : shape.rank;
    const int distance = (receiver - sender + shape.size) % shape.size;
    messages.push_back(
        {make_task(shape, request, distance), numbers[{request.root, send}]++, distance, sender});
  }
  return messages;
}

// Copies for messages to oneself, matched in their order.
std::vector<Message> to_self(const MessageShape& shape, const std::vector<Request>& requests) {
  std::vector<Request> sends, receives;
  for (const Request& request : requests)
    if (request.root == shape.rank) (is_send(request) ? sends : receives).push_back(request);
  if (sends.size() != receives.size())
    fail(ncclInvalidUsage,
         "rank {} sends {} messages to itself and receives {} in one group: they would never meet",
         shape.rank, sends.size(), receives.size());
  std::vector<Message> messages;
  for (size_t i = 0; i < sends.size(); ++i) {
    if (bytes_of(sends[i]) != bytes_of(receives[i]))
      fail(ncclInvalidUsage, "rank {}: {} to itself meets {}", shape.rank, describe(sends[i]),
           describe(receives[i]));
    Task task = make_task(shape, sends[i], 0);
    task.to = receives[i].output;
    task.kind = Task::kCopy;
    if (task.bytes > 0 && task.from != task.to) messages.push_back({task, int(i), 0, shape.rank});
  }
  return messages;
}

}  // namespace

std::vector<std::vector<Task>> deal_messages(const MessageShape& shape,
                                             const std::vector<Request>& requests) {
  std::vector<Message> messages = to_others(shape, requests);
  for (Message& copy : to_self(shape, requests)) messages.push_back(copy);
  std::sort(messages.begin(), messages.end(),
            [](const Message& a, const Message& b) { return a.key() < b.key(); });
  std::vector<std::vector<Task>> launches;
  std::map<std::pair<int, int>, int> last;  // task of a flow in the current launch
  for (const Message& message : messages) {
    if (launches.empty() || launches.back().size() == kMaxTasks) {
      launches.emplace_back();
      last.clear();
    }
    Task task = message.task;
    const std::pair<int, int> flow{task.peer, task.kind};
    if (const auto before = last.find(flow); before != last.end() && task.kind != Task::kCopy)
      task.after = int16_t(before->second);
    last[flow] = int(launches.back().size());
    launches.back().push_back(task);
  }
  return launches;
}

}  // namespace weft
