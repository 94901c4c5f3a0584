// From requests to launches (plan.h). Every choice is a function of rank-invariant keys:
// collective, count, type, op, root and what ranks agreed on at init. Pointers only pass through.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>

#include "algorithms/select.h"
#include "device/kernels.h"
#include "hash.h"
#include "launch_shape.h"
#include "messages.h"
#include "plan.h"
#include "reduction.h"

namespace weft {
namespace {

// What carries an operation, a pattern or a schedule, as far as it is the same on all ranks.
struct Course {
  Protocol protocol;
  int chunks, flow_chunks;  // algorithms/pattern.h
  bool exchanges, in_rank_order;
  bool zero_copy;                 // if all ranks reach all buffers that it needs
  PatternId pattern;              // without a schedule
  const ScheduleSteps* schedule;  // or null

  uint64_t id() const { return schedule ? schedule->id : uint64_t(pattern); }
};

// How an operation is done: what all ranks choose alike.
struct Way {
  Course course;
  Region region;
  uint32_t packs_per_slot;
};

bool is_segmented(Collective collective) {
  const BufferShape shape = buffer_shape(collective, true);
  return shape.input == Segments::kPerRank || shape.output == Segments::kPerRank;
}

// What is moved: elements that are not reduced are bytes, whatever their type.
struct Elements {
  size_t count, bytes;
};
Elements elements_of(const Request& request) {
  const size_t bytes = type_bytes(request.type);
  if (reduces(request.collective)) return {request.count, bytes};
  return {request.count * bytes, 1};
}

// How a protocol uses slots and channels.
struct WireShape {
  Region stream, exchange;  // exchange == stream: it has none
  size_t bytes_per_channel;
  uint32_t unit_bytes, unit_packs, unit_lanes;  // of a slot; lanes that take a unit in one go
};
WireShape shape_of(Protocol protocol) {
  constexpr uint32_t kPack = kPackBytes;
  switch (protocol) {
    case Protocol::kLl:
      return {
          Region::kLlStream, Region::kLlExchange, platform::kLlBytesPerChannel, 2 * kPack, 1, 1};
    case Protocol::kLl128:
      return {Region::kLl128Stream,
              Region::kLl128Exchange,
              platform::kLl128BytesPerChannel,
              2 * platform::kLineLanes * kPack,
              2 * platform::kLineLanes - 1,
              2 * platform::kLineLanes};
    case Protocol::kSimple:
      break;
  }
  return {Region::kSimple, Region::kSimple, platform::kBytesPerChannel, kPack, 1, 1};
}

uint32_t channels_for(const Communicator& comm, Protocol protocol, size_t bytes) {
  const size_t each = shape_of(protocol).bytes_per_channel;
  return uint32_t(std::clamp<size_t>((bytes + each - 1) / each, comm.geometry.min_channels,
                                     comm.geometry.box.channels));
}

// An exchange needs data on every flow in every loop.
bool fills_every_chunk(const Request& request, const Elements& elements, int chunks) {
  const size_t packs = (elements.count * elements.bytes + kPackBytes - 1) / kPackBytes;
  return packs >= size_t(is_segmented(request.collective) ? 1 : chunks);
}

// A rank alone folds what it has.
Choice choose(const Communicator& comm, Collective collective, size_t bytes) {
  if (comm.size() > 1) return comm.selector->choose(collective, bytes);
  return {&algorithms()[size_t(PatternId::kOneShotAllReduce)], Protocol::kSimple};
}

Course course_of(const Communicator& comm, const Request& request, size_t bytes) {
  if (const ScheduleSteps* s = request.schedule.get())
    return {s->protocol, s->chunks, s->flow_chunks, false, s->in_rank_order, false, {}, s};
  const Choice choice = choose(comm, request.collective, bytes);
  const PatternId id = choice.algorithm->pattern;
  return {choice.protocol,
          pattern_chunks(id, comm.size()),
          flow_chunks(id),
          exchanges(id),
          folds_in_rank_order(id),
          choice.zero_copy && !request.user_op,
          id,
          nullptr};
}

Way way_of(const Communicator& comm, const Request& request, const Elements& elements) {
  Way way;
  way.course = course_of(comm, request, elements.count * elements.bytes);
  // The lanes of a line would part at a pack that is not whole.
  if (way.course.protocol == Protocol::kLl128 && elements.count * elements.bytes % kPackBytes != 0)
    way.course.protocol = Protocol::kLl;
  const WireShape wire = shape_of(way.course.protocol);
  const bool exchange =
      way.course.exchanges && fills_every_chunk(request, elements, way.course.chunks);
  way.region = exchange ? wire.exchange : wire.stream;
  way.packs_per_slot =
      comm.geometry.box.of(way.region).slot_bytes / wire.unit_bytes * wire.unit_packs;
  return way;
}

// Of a channel's share at least one pack a chunk, else parts of an exchange would be empty.
Chunking chunking_of(const Communicator& comm, const Request& request, const Way& way,
                     uint32_t most_channels) {
  const Elements elements = elements_of(request);
  ChunkingKey chunking{};
  chunking.count = elements.count;
  chunking.pack_elems = uint32_t(kPackBytes / elements.bytes);
  chunking.chunks = is_segmented(request.collective) ? 1 : uint32_t(way.course.chunks);
  const Fifo& fifo = comm.geometry.box.of(way.region);
  const uint32_t slots =
      is_exchange(way.region) ? 1 : fifo.slots / uint32_t(way.course.flow_chunks);
  chunking.chunk_packs = way.packs_per_slot * std::max(slots, 1u);
  const size_t fill = std::max<size_t>(Chunking::packs_of(chunking) / chunking.chunks, 1);
  chunking.channels = uint32_t(std::min<size_t>(most_channels, fill));
  return Chunking(chunking);
}

// Two ranks with equal signatures move the same bytes in the same steps.
uint32_t signature_of(const Request& request, const Way& way, const Chunking& chunking) {
  uint64_t hash = hash_number(uint64_t(request.collective), request.count);
  for (const uint64_t part :
       {uint64_t(request.type), uint64_t(op_for_signature(request)), uint64_t(request.root),
        uint64_t(request.bias != nullptr), way.course.id(), uint64_t(way.course.protocol),
        uint64_t(chunking.channels), uint64_t(chunking.chunk_packs),
        uint64_t(way.course.zero_copy)})
    hash = hash_number(hash, part);
  return uint32_t(hash ^ hash >> 32);
}

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
  const Way way = way_of(comm, request, elements_of(request));
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

// A lane for every pack of a chunk: barriers and the start of a block cost less with fewer (two
// H200, 8 bytes: 128 threads 5.0 us of a kernel, 512 threads 5.4).
uint32_t threads_for(const Communicator& comm, const Way& way, const Chunking& chunking) {
  constexpr uint32_t kLeast = 128;
  const WireShape wire = shape_of(way.course.protocol);
  const size_t share = chunking.share_packs + (chunking.longer_shares > 0 ? 1 : 0);
  const size_t parts = size_t(std::max(chunking.loops, 1u)) * chunking.chunks;
  const size_t packs = (share + parts - 1) / parts;
  const size_t units = (packs + wire.unit_packs - 1) / wire.unit_packs;
  const size_t lanes = std::bit_ceil(units * wire.unit_lanes);
  return uint32_t(std::min<size_t>(std::max<size_t>(lanes, kLeast), comm.geometry.threads));
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
  if (task.kind != Task::kSend || least == 0 || task.bytes < least) return;
  task.to = comm.peer_access->address_for(task.peer, task.from, task.bytes);
}

// All of a group's messages move side by side, whatever their streams: one launch, before which the
// other streams end and after which they go on.
void add_messages(const Communicator& comm, const std::vector<Request>& requests,
                  std::vector<Launch>& launches) {
  const uint32_t channels = comm.geometry.box.channels;
  std::vector<hipStream_t> streams;
  for (const Request& request : requests) streams.push_back(request.stream);
  for (const auto& tasks : deal_messages({comm.rank(), comm.size(), channels}, requests)) {
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
  }
  return launches;
}

}  // namespace weft
