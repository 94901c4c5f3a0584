// What all ranks decide alike (way.h).
#include "way.h"

#include <algorithm>
#include <bit>

#include "algorithms/select.h"
#include "hash.h"
#include "launch_shape.h"
#include "reduction.h"

namespace weft {
namespace {

bool is_segmented(Collective collective) {
  const BufferShape shape = buffer_shape(collective, true);
  return shape.input == Segments::kPerRank || shape.output == Segments::kPerRank;
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

// An exchange needs data on every flow in every loop.
bool fills_every_chunk(const Request& request, const Elements& elements, int chunks) {
  const size_t packs = (elements.count * elements.bytes + kPackBytes - 1) / kPackBytes;
  return packs >= size_t(is_segmented(request.collective) ? 1 : chunks);
}

// A rank alone folds what it has.
Choice choose(const Communicator& comm, Collective collective, size_t bytes, bool long_lines) {
  if (comm.size() > 1) return comm.selector->choose(collective, bytes, long_lines);
  return {&algorithms()[size_t(PatternId::kOneShotAllReduce)], Protocol::kSimple};
}

// LL128 carries whole packs, as the lanes of a line would part at a shorter one.
bool suits_long_lines(size_t bytes) { return bytes % kPackBytes == 0; }

Course course_of(const Communicator& comm, const Request& request, size_t bytes, bool long_lines) {
  if (const ScheduleSteps* s = request.schedule.get())
    return {s->protocol, s->chunks, s->flow_chunks, false, s->in_rank_order, false, {}, s};
  const Choice choice = choose(comm, request.collective, bytes, long_lines);
  const PatternId id = choice.algorithm->pattern;
  return {choice.protocol,
          pattern_chunks(id, comm.size()),
          flow_chunks(id),
          exchanges(id),
          folds_in_rank_order(id),
          choice.zero_copy && !request.user_op,
          id,
          nullptr,
          choice.channels};
}

}  // namespace

Way way_of(const Communicator& comm, const Request& request) {
  const Elements elements = elements_of(request);
  Way way;
  const size_t bytes = elements.count * elements.bytes;
  const bool long_lines = suits_long_lines(bytes);
  way.course = course_of(comm, request, bytes, long_lines);
  if (way.course.protocol == Protocol::kLl128 && !long_lines)  // as told: a schedule, NCCL_PROTO
    way.course.protocol = Protocol::kLl;
  const WireShape wire = shape_of(way.course.protocol);
  const bool exchange =
      way.course.exchanges && fills_every_chunk(request, elements, way.course.chunks);
  way.region = exchange ? wire.exchange : wire.stream;
  way.packs_per_slot =
      comm.geometry.box.of(way.region).slot_bytes / wire.unit_bytes * wire.unit_packs;
  return way;
}

Elements elements_of(const Request& request) {
  const size_t bytes = type_bytes(request.type);
  if (reduces(request.collective)) return {request.count, bytes};
  return {request.count * bytes, 1};
}

uint32_t channels_for(const Communicator& comm, const Course& course, size_t bytes) {
  const size_t each = shape_of(course.protocol).bytes_per_channel;
  const size_t wanted = course.channels > 0 ? course.channels : (bytes + each - 1) / each;
  return uint32_t(
      std::clamp<size_t>(wanted, comm.geometry.min_channels, comm.geometry.box.channels));
}

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

// A lane for every pack of a chunk: barriers and the start of a block cost less with fewer (two
// H200, 8 bytes: 128 threads 5.0 us of a kernel, 512 threads 5.4).
uint32_t threads_for(const Communicator& comm, const Way& way, const Chunking& chunking,
                     uint32_t spare) {
  constexpr uint32_t kLeast = 128;
  const WireShape wire = shape_of(way.course.protocol);
  const size_t share = chunking.share_packs + (chunking.longer_shares > 0 ? 1 : 0);
  const size_t parts = size_t(std::max(chunking.loops, 1u)) * chunking.chunks;
  const size_t packs = (share + parts - 1) / parts;
  const size_t units = (packs + wire.unit_packs - 1) / wire.unit_packs;
  const size_t lanes = std::bit_ceil(units * wire.unit_lanes);
  return uint32_t(std::min<size_t>(std::max<size_t>(lanes + spare, kLeast), comm.geometry.threads));
}

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

}  // namespace weft
