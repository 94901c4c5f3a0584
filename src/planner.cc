// From requests to launches (plan.h). Every choice is a function of rank-invariant keys:
// collective, count, type, op, root and what ranks agreed on at init. Pointers only pass through.
#include <algorithm>
#include <bit>
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
  uint32_t unit_bytes, unit_packs;  // of a slot
};
WireShape shape_of(Protocol protocol) {
  constexpr uint32_t kPack = kPackBytes;
  switch (protocol) {
    case Protocol::kLl:
      return {Region::kLlStream, Region::kLlExchange, platform::kLlBytesPerChannel, 2 * kPack, 1};
    case Protocol::kLl128:
      return {Region::kLl128Stream, Region::kLl128Exchange, platform::kLl128BytesPerChannel,
              2 * platform::kLineLanes * kPack, 2 * platform::kLineLanes - 1};
    case Protocol::kSimple:
      break;
  }
  return {Region::kSimple, Region::kSimple, platform::kBytesPerChannel, kPack, 1};
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
Chunking chunking_of(const Communicator& comm, const Request& request, const Elements& elements,
                     const Way& way) {
  ChunkingKey chunking{};
  chunking.count = elements.count;
  chunking.pack_elems = uint32_t(kPackBytes / elements.bytes);
  chunking.chunks = is_segmented(request.collective) ? 1 : uint32_t(way.course.chunks);
  const Fifo& fifo = comm.geometry.box.of(way.region);
  const uint32_t slots =
      is_exchange(way.region) ? 1 : fifo.slots / uint32_t(way.course.flow_chunks);
  chunking.chunk_packs = way.packs_per_slot * std::max(slots, 1u);
  const size_t fill = std::max<size_t>(Chunking::packs_of(chunking) / chunking.chunks, 1);
  chunking.channels = uint32_t(std::min<size_t>(
      channels_for(comm, way.course.protocol, elements.count * elements.bytes), fill));
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
          mapped_hops(request.collective, comm.size()),
          reach(touched.input, request.input, shape.input),
          reach(touched.output, request.output, shape.output)};
}

// This rank's steps, on the device.
const Step* steps_of(Communicator& comm, const Request& request, const Course& course) {
  StepTables& tables = comm.device_state->steps;
  if (!course.schedule) return tables.find(course.pattern, request.root);
  return tables.find(course.id(), course.schedule->steps[size_t(comm.rank())]);
}

Work make_work(Communicator& comm, const Request& request, const Way& way, const OpArg& op) {
  const Elements elements = elements_of(request);
  const BufferShape shape = buffer_shape(request.collective, true);
  Work work{};
  work.input = request.input;
  work.output = request.output;
  work.bias = request.bias;
  work.input_stride = shape.input == Segments::kPerRank ? elements.count : 0;
  work.output_stride = shape.output == Segments::kPerRank ? elements.count : 0;
  work.chunking = chunking_of(comm, request, elements, way);
  work.op = op;
  work.slice_packs = way.packs_per_slot;
  work.signature = signature_of(request, way, work.chunking);
  const Course& course = way.course;
  work.steps = steps_of(comm, request, course);
  work.hops = course.schedule ? course.schedule->hops : pattern_hops(course.pattern, comm.size());
  work.region = way.region;
  if (course.zero_copy) work.mapped = mapped_work(comm, request);
  return work;
}

void add_collective(Communicator& comm, const Request& request, std::vector<Launch>& launches) {
  const Way way = way_of(comm, request, elements_of(request));
  const Reduction reduction = reduction_of(comm, request, way.course);
  const void* kernel = kernel_of(way.course.protocol, reduction.element, reduction.body);
  const auto joins = [&] {
    return !launches.empty() && launches.back().kernel == kernel &&
           launches.back().stream == request.stream && launches.back().common().works < kMaxWorks;
  };
  if (!joins())
    launches.push_back({kernel,
                        1,
                        comm.geometry.threads,
                        collective_scratch(comm.size()),
                        request.stream,
                        {},
                        CollectiveArgs{}});
  Launch& launch = launches.back();
  const Work work = make_work(comm, request, way, reduction.arg);
  launch.grid = std::max(launch.grid, work.chunking.channels);
  auto& args = std::get<CollectiveArgs>(launch.args);
  args.work[args.works++] = work;
}

std::vector<hipStream_t> other_streams(const std::vector<Request>& requests) {
  std::vector<hipStream_t> others;
  for (const Request& request : requests)
    if (request.stream != requests.front().stream &&
        std::find(others.begin(), others.end(), request.stream) == others.end())
      others.push_back(request.stream);
  return others;
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
  for (const auto& tasks : deal_messages({comm.rank(), comm.size(), channels}, requests)) {
    PairwiseArgs args{};
    args.tasks = uint32_t(tasks.size());
    std::copy(tasks.begin(), tasks.end(), args.task);
    for (Task& each : std::span(args.task, args.tasks)) offer_buffer(comm, each);
    for (const Task& task : tasks) mark_channels(task, channels, args.channels_used);
    const int grid = std::popcount(args.channels_used[0]) + std::popcount(args.channels_used[1]);
    launches.push_back({pairwise_kernel(), uint32_t(grid), comm.geometry.threads,
                        pairwise_scratch(comm.size()), requests.front().stream,
                        other_streams(requests), args});
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
  for (const Request& request : requests) {
    if (is_pairwise(request.collective)) {
      messages.push_back(request);
    } else {
      add_collective(comm, request, launches);
    }
  }
  if (!messages.empty()) add_messages(comm, messages, launches);
  for (Launch& launch : launches) {
    launch.grid = grid_for(comm, launch.grid);
    launch.common().comm = comm.device_state->device_comm();
  }
  return launches;
}

}  // namespace weft
