// From requests to launches (plan.h). Every choice is a function of rank-invariant keys:
// collective, count, type, op, root and what ranks agreed on at init. Pointers only pass through.
#include <algorithm>
#include <random>

#include "algorithms/select.h"
#include "hash.h"
#include "launch_shape.h"
#include "plan.h"
#include "reduction.h"

namespace weft {
namespace {

uint32_t channels_for(const Communicator& comm, size_t bytes) {
  const size_t wanted = (bytes + platform::kBytesPerChannel - 1) / platform::kBytesPerChannel;
  const Geometry& geometry = comm.geometry;
  return uint32_t(std::clamp<size_t>(wanted, geometry.min_channels, geometry.box.channels));
}

// Two ranks with equal signatures move the same bytes in the same steps.
uint32_t signature_of(const Request& request, const Choice& choice, const Chunking& chunking) {
  uint64_t hash = hash_number(uint64_t(request.collective), request.count);
  for (const uint64_t part : {uint64_t(request.type), uint64_t(request.op), uint64_t(request.root),
                              uint64_t(choice.algorithm->pattern), uint64_t(choice.protocol),
                              uint64_t(chunking.channels), uint64_t(chunking.chunk_packs)})
    hash = hash_number(hash, part);
  return uint32_t(hash ^ hash >> 32);
}

Work make_work(const Communicator& comm, const Request& request, const Reduction& reduction,
               const Choice& choice) {
  const size_t element = type_bytes(request.type);
  const uint32_t slice_packs = comm.geometry.box.slice_bytes / kPackBytes;
  Work work{};
  work.input = request.input;
  work.output = request.output;
  work.chunking = {request.count, uint32_t(kPackBytes / element),
                   channels_for(comm, request.count * element), uint32_t(comm.size()),
                   slice_packs * (comm.geometry.box.slots / 2)};
  work.op = reduction.arg;
  work.slice_packs = slice_packs;
  work.signature = signature_of(request, choice, work.chunking);
  work.pattern = choice.algorithm->pattern;
  return work;
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
  for (const Request& request : requests) {
    const Choice choice = select(request.collective, comm.rules());
    const Reduction reduction = make_reduction(request.type, request.op, comm.size(), comm.fnuz);
    const void* kernel = kernel_of(choice.protocol, reduction.element, reduction.body);
    const bool joins = !launches.empty() && launches.back().kernel == kernel &&
                       launches.back().stream == request.stream &&
                       launches.back().args.works < kMaxWorks;
    if (!joins) {
      launches.push_back({kernel, 1, comm.geometry.threads, request.stream, {}});
      launches.back().args.comm = comm.device_state->device_comm();
    }
    Launch& launch = launches.back();
    const Work work = make_work(comm, request, reduction, choice);
    launch.grid = std::max(launch.grid, work.chunking.channels);
    launch.args.work[launch.args.works++] = work;
  }
  for (Launch& launch : launches) launch.grid = grid_for(comm, launch.grid);
  return launches;
}

}  // namespace weft
