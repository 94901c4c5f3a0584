// From requests to launches (plan.h). What ranks must decide alike is in way.h; pointers come in
// here.
#include <algorithm>
#include <array>
#include <numeric>

#include "device/kernels.h"
#include "hash.h"
#include "launch_shape.h"
#include "message_launches.h"
#include "plan.h"

namespace weft {
namespace {

Reduction planned_reduction(const Communicator& comm, const Request& request,
                            const Course& course) {
  if (!reduces(request.collective)) return {ElementType::kInt8, {}};
  const Partials partials = course.in_rank_order ? Partials::kInAccumulator : Partials::kOnWire;
  return make_reduction({request.type, request.op, request.user_op ? &*request.user_op : nullptr,
                         comm.size(), comm.fnuz, partials});
}

size_t buffer_bytes(const Request& request, Segments segments, int ranks) {
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
    return access.reach(buffer, buffer_bytes(request, segments, comm.size()));
  };
  return {comm.device_state->steps.find_mapped(request.collective, request.root),
          reach(touched.input, request.input, shape.input),
          reach(touched.output, request.output, shape.output)};
}

Planned planned(const Communicator& comm, const Request& request) {
  const Way way = way_of(comm, request);
  const Reduction reduction = planned_reduction(comm, request, way.course);
  return {&request, way, reduction, kernel_of(way.course.protocol, reduction.element)};
}

// This rank's steps, on the device.
StepList steps_of(Communicator& comm, const Request& request, const Course& course) {
  StepTables& tables = comm.device_state->steps;
  if (!course.schedule) return tables.find(course.pattern, request.root);
  return tables.find(course.id(), course.schedule->steps[size_t(comm.rank())]);
}

Work make_work(Communicator& comm, const Planned& planned, uint32_t most_channels) {
  const Request& request = *planned.request;
  const Way& way = planned.way;
  const Elements elements = elements_of(request);
  const BufferShape shape = buffer_shape(request.collective, true);
  Work work{};
  work.input = request.input;
  work.output = request.output;
  work.bias = request.bias;
  work.input_stride = shape.input == Segments::kPerRank ? elements.count : 0;
  work.output_stride = shape.output == Segments::kPerRank ? elements.count : 0;
  work.chunking = chunking_of(comm, request, way, most_channels);
  work.op = planned.reduction.arg;
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
  const auto& [request, way, reduction, engine] = planned;
  if (way.course.schedule != nullptr || !is_one_hop(way.course.pattern)) return nullptr;
  if (!reduces(request->collective)) return one_hop_copy_of(way.course.protocol);
  const bool sums = is_sum(reduction.arg) && (reduction.arg.flags & OpArg::kPreFromMemory) == 0 &&
                    request->bias == nullptr;
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
  const Request& request = *planned.request;
  const Way& way = planned.way;
  const Work work = make_work(comm, planned, channels_for(comm, way.course, planned.bytes()));
  const Chunking& chunking = work.chunking;
  if (chunking.share_packs + (chunking.longer_shares > 0 ? 1 : 0) > way.packs_per_slot ||
      chunking.loops != 1)
    return false;
  const uint32_t threads = threads_for(comm, way, chunking, platform::kSpareLanes);
  Launch& launch = add_launch<OneHopArgs>(
      launches, {kernel, chunking.channels, threads, collective_scratch(comm.size())},
      request.stream);
  auto& args = std::get<OneHopArgs>(launch.args);
  args.works = 1;
  args.work = work;
  const Spot at{comm.rank(), comm.size(), request.root};
  const Step gives = pattern_step(way.course.pattern, at, 0);
  const Step takes = pattern_step(way.course.pattern, at, 1);
  args.gives_to = mask_of(gives.send, at);
  args.takes_from = mask_of(takes.recv, at);
  args.has_own = gives.write_output || takes.read_input;
  args.whole_packs = whole_packs(request, work, elements_of(request).bytes);
  std::ranges::copy(comm.device_state->peers(), args.peer);
  return true;
}

// Broadcasts, or reduces, that follow one another in a group keep different links busy: they share
// the channels instead of taking them in turn.
bool runs_beside(const Planned& a, const Planned& b) {
  const Collective collective = a.request->collective;
  return (collective == Collective::kBroadcast || collective == Collective::kReduce) &&
         b.request->collective == collective && a.kernel == b.kernel;
}

using ChannelCounts = std::array<uint32_t, kMaxWorks>;

// What each gets, less than it would take alone when all together want more than there are.
ChannelCounts deal_channels(const Communicator& comm, std::span<const Planned> row) {
  ChannelCounts counts{};
  for (size_t i = 0; i < row.size(); ++i)
    counts[i] = channels_for(comm, row[i].way.course, row[i].bytes());
  const uint32_t wanted = std::accumulate(counts.begin(), counts.end(), 0u);
  const uint32_t most = comm.geometry.box.channels;
  if (row.size() > 1 && wanted > most)
    for (uint32_t& count : counts) count = std::max(count * most / wanted, 1u);
  return counts;
}

// One work a request, beside each other. The signature of all is that of each: for a rank that
// groups other requests it is another call.
void add_works(Communicator& comm, std::span<const Planned> row, Launch& launch) {
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

// Whether one kernel does both, one after the other.
bool shares_launch(const Launch& before, std::span<const Planned> row) {
  if (before.kernel != row.front().kernel || before.stream != row.front().request->stream)
    return false;
  const bool one_stream = std::ranges::all_of(
      row, [&](const Planned& each) { return each.request->stream == before.stream; });
  return one_stream && before.joined.empty() &&
         std::get<CollectiveArgs>(before.args).works + row.size() <= kMaxWorks;
}

// `row`: what runs side by side.
void add_collectives(Communicator& comm, std::span<const Planned> row,
                     std::vector<Launch>& launches) {
  if (row.size() == 1 && add_one_hop(comm, row.front(), launches)) return;
  if (launches.empty() || !shares_launch(launches.back(), row)) {
    add_launch<CollectiveArgs>(launches,
                               {row.front().kernel, 1, 1, collective_scratch(comm.size())},
                               row.front().request->stream);
    for (const Planned& each : row) launches.back().join(each.request->stream);
  }
  add_works(comm, row, launches.back());
}

// WEFT_RANDOM_GRID: any grid is right, so tests take one at random for every launch, another on
// every rank.
uint32_t grid_for(Communicator& comm, uint32_t channels) {
  if (comm.config().random_grid == 0) return channels;
  comm.random_state = hash_number(comm.random_state, uint64_t(comm.rank()));
  return 1 + uint32_t(comm.random_state % channels);
}

}  // namespace

std::vector<Launch>& Planner::plan(Communicator& comm, std::span<const Request> requests) {
  launches_.clear();
  row_.clear();
  const auto end_row = [&] {
    if (!row_.empty()) add_collectives(comm, row_, launches_);
    row_.clear();
  };
  bool messages = false;
  for (const Request& request : requests) {
    if (is_pairwise(request.collective)) {
      messages = true;
      continue;
    }
    const Planned next = planned(comm, request);
    if (row_.size() == kMaxWorks || (!row_.empty() && !runs_beside(row_.back(), next))) end_row();
    row_.push_back(next);
  }
  end_row();
  if (messages)
    for (const TaskBatch& batch : dealer_.deal(message_shape(comm), requests))
      add_messages(comm, batch, requests, launches_);
  for (Launch& launch : launches_) {
    launch.grid = grid_for(comm, launch.grid);
    launch.common().comm = comm.device_state->device_comm();
    launch.common().lends = comm.peer_access && comm.zero_copy_bytes() > 0;
  }
  return launches_;
}

}  // namespace weft
