// Launches of messages (message_launches.h).
#include "message_launches.h"

#include <algorithm>
#include <bit>

#include "device/kernels.h"
#include "launch_shape.h"

namespace weft {
namespace {

// Channels that have messages, a bit each.
struct ChannelSet {
  uint64_t words[2] = {};

  void add(const Task& task, uint32_t channels) {
    for (uint32_t i = 0; i < task.channels; ++i) {
      const uint32_t channel = (task.first_channel + i) % channels;
      words[channel / 64] |= uint64_t(1) << channel % 64;
    }
  }
  bool contains(uint32_t channel) const { return (words[channel / 64] >> channel % 64 & 1) != 0; }
  uint32_t count() const { return uint32_t(std::popcount(words[0]) + std::popcount(words[1])); }
};

ChannelSet channels_of(const Communicator& comm, const TaskBatch& batch) {
  ChannelSet used;
  for (const Task& task : batch.tasks) used.add(task, comm.geometry.box.channels);
  return used;
}

// A long message is read from where it lies, if the receiver reaches that.
void offer_buffer(const Communicator& comm, Task& task) {
  const size_t least = comm.zero_copy_bytes();
  if (task.kind != Task::kSend || task.lines || least == 0 || task.bytes < least) return;
  task.to = comm.peer_access->address_for(task.peer, task.from, task.bytes);
}

// Whether all go by lines, and of every flow no more than there are slots: what a kernel takes in
// its receives is then never what others need to give it room (device/short_messages.h).
bool all_short(const Communicator& comm, const TaskBatch& batch) {
  return batch.tasks.size() <= kMaxShortTasks && comm.size() <= kMostShortRanks &&
         uint32_t(batch.longest_flow) <= comm.geometry.box.of(Region::kLlPairwise).slots &&
         std::ranges::all_of(batch.tasks, &Task::lines);
}

Launch& add_short(const Communicator& comm, const TaskBatch& batch, hipStream_t stream,
                  std::vector<Launch>& launches) {
  constexpr uint32_t kLeastThreads = 128;
  size_t longest = 0;
  for (const Task& task : batch.tasks)
    longest = std::max(longest, task.share_packs + (task.longer_shares > 0 ? 1 : 0));
  const auto lanes = uint32_t(std::bit_ceil(longest)) + platform::kSpareLanes;
  const ChannelSet used = channels_of(comm, batch);
  Launch& launch =
      add_launch<ShortMessageArgs>(launches,
                                   {short_messages_kernel(), used.count(),
                                    std::min(std::max(lanes, kLeastThreads), comm.geometry.threads),
                                    short_message_scratch(comm.size())},
                                   stream);
  auto& args = std::get<ShortMessageArgs>(launch.args);
  args.tasks = uint32_t(batch.tasks.size());
  std::ranges::copy(batch.tasks, args.task);
  std::ranges::copy(comm.device_state->peers(), args.peer);
  for (uint32_t channel = 0; channel < comm.geometry.box.channels; ++channel)
    if (used.contains(channel)) args.channel[args.channels++] = uint8_t(channel);
  return launch;
}

Launch& add_any(const Communicator& comm, const TaskBatch& batch, hipStream_t stream,
                std::vector<Launch>& launches) {
  const ChannelSet used = channels_of(comm, batch);
  Launch& launch = add_launch<PairwiseArgs>(
      launches,
      {pairwise_kernel(), used.count(), comm.geometry.threads, pairwise_scratch(comm.size())},
      stream);
  auto& args = std::get<PairwiseArgs>(launch.args);
  args.tasks = uint32_t(batch.tasks.size());
  std::ranges::copy(batch.tasks, args.task);
  for (Task& each : std::span(args.task, args.tasks)) offer_buffer(comm, each);
  std::ranges::copy(used.words, args.channels_used);
  return launch;
}

// Packs that a slot of lines holds.
uint32_t line_packs(const Communicator& comm) {
  constexpr uint32_t kLinesOfPack = 2;
  const Fifo& fifo = comm.geometry.box.of(Region::kLlPairwise);
  return comm.geometry.line_messages ? fifo.slot_bytes / (kLinesOfPack * kPackBytes) : 0;
}

}  // namespace

MessageShape message_shape(const Communicator& comm) {
  return {comm.rank(), comm.size(), comm.geometry.box.channels, line_packs(comm)};
}

void add_messages(const Communicator& comm, const TaskBatch& batch,
                  std::span<const Request> requests, std::vector<Launch>& launches) {
  const auto is_message = [](const Request& request) { return is_pairwise(request.collective); };
  const hipStream_t stream = std::ranges::find_if(requests, is_message)->stream;
  Launch& launch = all_short(comm, batch) ? add_short(comm, batch, stream, launches)
                                          : add_any(comm, batch, stream, launches);
  for (const Request& request : requests)
    if (is_message(request)) launch.join(request.stream);
}

}  // namespace weft
