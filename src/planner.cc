// From requests to launches (plan.h). What ranks must decide alike is in way.h; pointers come in
// here.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>

#include "device/kernels.h"
#include "hash.h"
#include "launch_shape.h"
#include "messages.h"
#include "plan.h"
#include "reduction.h"
#include "way.h"

namespace weft {
namespace {

Reduction reduction_of(const Communicator& comm, const Request& request, const Course& course) {
  if (!reduces(request.collective)) return {ElementType::kInt8, OpBody::kSum, {}};
  const Partials partials = course.in_rank_order ? Partials::kInAccumulator : Partials::kOnWire;
  return make_reduction({request.type, request.op, request.user_op ? &*request.user_op : nullptr,
                         comm.size(), comm.fnuz, partials});
}

size_t bytes_of(const Request& request, Segments segments, int ranks) {
  const size_t one = request.count * type_bytes(request.type);
  return segments == Segments::kPerRank ? one * size_t(ranks) : one;
}

MappedWork mapped_work(Communicator& comm, const Request& request) {
  PeerAccess& access = *comm.peer_access;
  const Spot at{comm.rank(), comm.size(), request.root};
  const Touched touched = touched_by_others(request.collective, at);
  const BufferShape shape = buffer_shape(request.collective, at.is_root());
  const bool fits = mapped_in_place(request.collective) || request.input != request.output;
  const auto reach = [&](bool needed, const void* buffer, Segments segments) -> const Reach* {
    if (!needed) return access.not_needed();
    if (!fits || reinterpret_cast<uintptr_t>(buffer) % kPackBytes != 0) return nullptr;
    return access.reach(buffer, bytes_of(request, segments, comm.size()));
  };
  return {comm.device_state->steps.find_mapped(request.collective, request.root),
          reach(touched.input, request.input, shape.input),
          reach(touched.output, request.output, shape.output)};
}

// A request of a collective with all that was decided for it.
struct Planned {
  const Request& request;
  Way way;
  Reduction reduction;
  const void* kernel;

  size_t bytes() const { return request.count * type_bytes(request.type); }
};
Planned planned(const Communicator& comm, const Request& request) {
  const Way way = way_of(comm, request);
  const Reduction reduction = reduction_of(comm, request, way.course);
  return {request, way, reduction,
          kernel_of(way.course.protocol, reduction.element, reduction.body)};
}

// This rank's steps, on the device.
StepList steps_of(Communicator& comm, const Request& request, const Course& course) {
  StepTables& tables = comm.device_state->steps;
  if (!course.schedule) return tables.find(course.pattern, request.root);
  return tables.find(course.id(), course.schedule->steps[size_t(comm.rank())]);
}

Work make_work(Communicator& comm, const Planned& planned, uint32_t most_channels) {
  const auto& [request, way, reduction, kernel] = planned;
  const Elements elements = elements_of(request);
  const BufferShape shape = buffer_shape(request.collective, true);
  Work work{};
  work.input = request.input;
  work.output = request.output;
  work.bias = request.bias;
  work.input_stride = shape.input == Segments::kPerRank ? elements.count : 0;
  work.output_stride = shape.output == Segments::kPerRank ? elements.count : 0;
  work.chunking = chunking_of(comm, request, way, most_channels);
  work.op = reduction.arg;
  work.slice_packs = way.packs_per_slot;
  work.signature = signature_of(request, way, work.chunking);
  const Course& course = way.course;
  work.list = steps_of(comm, request, course);
  work.region = way.region;
  if (course.zero_copy) work.mapped = mapped_work(comm, request);
  return work;
}

// ---- Operations of one hop, which have kernels of their own (device/one_hop.h) ----

// Null: it has none.
const void* one_hop_kernel(const Planned& planned) {
  const auto& [request, way, reduction, kernel] = planned;
  if (way.course.schedule != nullptr || !is_one_hop(way.course.pattern)) return nullptr;
  if (!reduces(request.collective)) return one_hop_copy_of(way.course.protocol);
  const bool sums = reduction.body == OpBody::kSum &&
                    (reduction.arg.flags & OpArg::kPreFromMemory) == 0 && request.bias == nullptr;
  return sums ? one_hop_sum_of(way.course.protocol, reduction.element) : nullptr;
}

uint32_t mask_of(const Peers& peers, const Spot& at) {
  uint32_t mask = 0;
  for (int i = 0; i < peers.candidates(at.n); ++i)
    if (peers.at(i, at.place) >= 0) mask |= 1u << peers.at(i, at.place);
  return mask;
}

bool whole_packs(const Request& request, const Work& work, size_t element_bytes) {
  const auto whole = [](auto bytes) { return size_t(bytes) % kPackBytes == 0; };
  return whole(work.chunking.count * element_bytes) &&
         whole(reinterpret_cast<uintptr_t>(request.input)) &&
         whole(reinterpret_cast<uintptr_t>(request.output));
}

// False: the engine runs it.
bool add_one_hop(Communicator& comm, const Planned& planned, std::vector<Launch>& launches) {
  const void* kernel = one_hop_kernel(planned);
  if (kernel == nullptr || comm.size() > kMostOneHopRanks) return false;
  const auto& [request, way, reduction, engine] = planned;
  OneHopArgs args{};
  args.works = 1;
  args.work = make_work(comm, planned, channels_for(comm, way.course.protocol, planned.bytes()));
  const Chunking& chunking = args.work.chunking;
  if (chunking.share_packs + (chunking.longer_shares > 0 ? 1 : 0) > way.packs_per_slot ||
      chunking.loops != 1)
    return false;
  const Spot at{comm.rank(), comm.size(), request.root};
  const Step gives = pattern_step(way.course.pattern, at, 0);
  const Step takes = pattern_step(way.course.pattern, at, 1);
  args.gives_to = mask_of(gives.send, at);
  args.takes_from = mask_of(takes.recv, at);
  args.has_own = gives.write_output || takes.read_input;
  args.whole_packs = whole_packs(request, args.work, elements_of(request).bytes);
  std::ranges::copy(comm.device_state->peers(), args.peer);
  launches.push_back({kernel,
                      chunking.channels,
                      threads_for(comm, way, chunking, platform::kSpareLanes),
                      collective_scratch(comm.size()),
                      request.stream,
                      {},
                      args});
  return true;
}

// Those that are not the first one, once each.
std::vector<hipStream_t> other_streams(const std::vector<hipStream_t>& streams) {
  std::vector<hipStream_t> others;
  for (const hipStream_t stream : streams)
    if (stream != streams.front() &&
        std::find(others.begin(), others.end(), stream) == others.end())
      others.push_back(stream);
  return others;
}

// Broadcasts, or reduces, that follow one another in a group keep different links busy: they share
// the channels instead of taking them in turn.
bool run_side_by_side(const Planned& a, const Planned& b) {
  const Collective collective = a.request.collective;
  return (collective == Collective::kBroadcast || collective == Collective::kReduce) &&
         b.request.collective == collective && a.kernel == b.kernel;
}

using ChannelCounts = std::array<uint32_t, kMaxWorks>;

// What each gets, less than it would take alone when all together want more than there are.
ChannelCounts deal_channels(const Communicator& comm, const std::vector<Planned>& row) {
  ChannelCounts counts{};
  for (size_t i = 0; i < row.size(); ++i)
    counts[i] = channels_for(comm, row[i].way.course.protocol, row[i].bytes());
  const uint32_t wanted = std::accumulate(counts.begin(), counts.end(), 0u);
  const uint32_t most = comm.geometry.box.channels;
  if (row.size() > 1 && wanted > most)
    for (uint32_t& count : counts) count = std::max(count * most / wanted, 1u);
  return counts;
}

// One work a request, beside each other. The signature of all is that of each: for a rank that
// groups other requests it is another call.
void add_works(Communicator& comm, const std::vector<Planned>& row, Launch& launch) {
  auto& args = std::get<CollectiveArgs>(launch.args);
  const ChannelCounts counts = deal_channels(comm, row);
  Work* const works = args.work + args.works;
  uint32_t next = 0, signature = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    works[i] = make_work(comm, row[i], counts[i]);
    if (next + works[i].chunking.channels > comm.geometry.box.channels) next = 0;
    works[i].first_channel = next;
    next += works[i].chunking.channels;
    launch.grid = std::max(launch.grid, next);
    launch.threads = std::max(launch.threads, threads_for(comm, row[i].way, works[i].chunking));
    signature = i == 0 ? works[i].signature : uint32_t(hash_number(signature, works[i].signature));
  }
  args.works += uint32_t(row.size());
  for (size_t i = 0; i < row.size(); ++i) {
    works[i].signature = signature;
    works[i].call = args.works - 1;
  }
}

// `row`: what runs side by side.
void add_collectives(Communicator& comm, const std::vector<Planned>& row,
                     std::vector<Launch>& launches) {
  if (row.size() == 1 && add_one_hop(comm, row.front(), launches)) return;
  const void* kernel = row.front().kernel;
  std::vector<hipStream_t> streams;
  for (const Planned& each : row) streams.push_back(each.request.stream);
  const std::vector<hipStream_t> others = other_streams(streams);
  const auto joins = [&] {
    return !launches.empty() && launches.back().kernel == kernel &&
           launches.back().stream == streams.front() && launches.back().joined == others &&
           launches.back().common().works + row.size() <= kMaxWorks;
  };
  if (!joins())
    launches.push_back(
        {kernel, 1, 1, collective_scratch(comm.size()), streams.front(), others, CollectiveArgs{}});
  add_works(comm, row, launches.back());
}

void mark_channels(const Task& task, uint32_t channels, uint64_t (&used)[2]) {
  for (uint32_t i = 0; i < task.channels; ++i) {
    const uint32_t channel = (task.first_channel + i) % channels;
    used[channel / 64] |= uint64_t(1) << channel % 64;
  }
}

// A long message is read from where it lies, if the receiver reaches that.
void offer_buffer(const Communicator& comm, Task& task) {
  const size_t least = comm.zero_copy_bytes();
  if (task.kind != Task::kSend || task.lines || least == 0 || task.bytes < least) return;
  task.to = comm.peer_access->address_for(task.peer, task.from, task.bytes);
}

// Whether all go by lines, and of every flow no more than there are slots: what a kernel takes in
// its receives is then never what others need to give it room (device/short_messages.h).
bool all_short(const Communicator& comm, const std::vector<Task>& tasks) {
  if (tasks.size() > kMaxShortTasks || comm.size() > kMostShortRanks) return false;
  std::array<uint32_t, kMaxShortTasks> place{};  // of a task in its flow
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (!tasks[t].lines) return false;
    place[t] = tasks[t].after < 0 ? 1 : place[size_t(tasks[t].after)] + 1;
    if (place[t] > comm.geometry.box.of(Region::kLlPairwise).slots) return false;
  }
  return true;
}

// Packs that a slot of lines holds.
uint32_t line_packs(const Communicator& comm) {
  constexpr uint32_t kLinesOfPack = 2;
  const Fifo& fifo = comm.geometry.box.of(Region::kLlPairwise);
  return comm.geometry.line_messages ? fifo.slot_bytes / (kLinesOfPack * kPackBytes) : 0;
}

Launch short_launch(const Communicator& comm, const std::vector<Task>& tasks) {
  constexpr uint32_t kLeastThreads = 128;
  ShortMessageArgs args{};
  args.tasks = uint32_t(tasks.size());
  std::ranges::copy(tasks, args.task);
  std::ranges::copy(comm.device_state->peers(), args.peer);
  const uint32_t channels = comm.geometry.box.channels;
  uint64_t used[2] = {};
  size_t longest = 0;
  for (const Task& task : tasks) {
    mark_channels(task, channels, used);
    longest = std::max(longest, task.share_packs + (task.longer_shares > 0 ? 1 : 0));
  }
  for (uint32_t channel = 0; channel < channels; ++channel)
    if ((used[channel / 64] >> channel % 64 & 1) != 0)
      args.channel[args.channels++] = uint8_t(channel);
  const auto lanes = uint32_t(std::bit_ceil(longest)) + platform::kSpareLanes;
  return {short_messages_kernel(),
          args.channels,
          std::min(std::max(lanes, kLeastThreads), comm.geometry.threads),
          short_message_scratch(comm.size()),
          {},
          {},
          args};
}

// All of a group's messages move side by side, whatever their streams: one launch, before which the
// other streams end and after which they go on.
void add_messages(const Communicator& comm, const std::vector<Request>& requests,
                  std::vector<Launch>& launches) {
  const uint32_t channels = comm.geometry.box.channels;
  std::vector<hipStream_t> streams;
  for (const Request& request : requests) streams.push_back(request.stream);
  const MessageShape shape{comm.rank(), comm.size(), channels, line_packs(comm)};
  for (const auto& tasks : deal_messages(shape, requests)) {
    if (all_short(comm, tasks)) {
      launches.push_back(short_launch(comm, tasks));
      launches.back().stream = streams.front();
      launches.back().joined = other_streams(streams);
      continue;
    }
    PairwiseArgs args{};
    args.tasks = uint32_t(tasks.size());
    std::copy(tasks.begin(), tasks.end(), args.task);
    for (Task& each : std::span(args.task, args.tasks)) offer_buffer(comm, each);
    for (const Task& task : tasks) mark_channels(task, channels, args.channels_used);
    const int grid = std::popcount(args.channels_used[0]) + std::popcount(args.channels_used[1]);
    launches.push_back({pairwise_kernel(), uint32_t(grid), comm.geometry.threads,
                        pairwise_scratch(comm.size()), streams.front(), other_streams(streams),
                        args});
  }
}

// WEFT_RANDOM_GRID: any grid is right, so tests take one at random for every launch, another on
// every rank.
uint32_t grid_for(Communicator& comm, uint32_t channels) {
  if (comm.config().random_grid == 0) return channels;
  comm.random_state = hash_number(comm.random_state, uint64_t(comm.rank()));
  return 1 + uint32_t(comm.random_state % channels);
}

}  // namespace

std::vector<Launch> plan(Communicator& comm, const std::vector<Request>& requests) {
  std::vector<Launch> launches;
  std::vector<Request> messages;
  std::vector<Planned> row;
  const auto end_row = [&] {
    if (!row.empty()) add_collectives(comm, row, launches);
    row.clear();
  };
  for (const Request& request : requests) {
    if (is_pairwise(request.collective)) {
      messages.push_back(request);
      continue;
    }
    const Planned next = planned(comm, request);
    if (row.size() == kMaxWorks || (!row.empty() && !run_side_by_side(row.back(), next))) end_row();
    row.push_back(next);
  }
  end_row();
  if (!messages.empty()) add_messages(comm, messages, launches);
  for (Launch& launch : launches) {
    launch.grid = grid_for(comm, launch.grid);
    launch.common().comm = comm.device_state->device_comm();
    launch.common().lends = comm.peer_access && comm.zero_copy_bytes() > 0;
  }
  return launches;
}

}  // namespace weft
