// How an operation is done: algorithm and protocol, channels, chunks, threads, the signature of the
// call. Everything here is a function of what all ranks know alike (collective, count, type, op,
// root and what was agreed on at init), so that all ranks decide the same. Next on the path:
// planner.cc.
#pragma once

#include "algorithms/chunks.h"
#include "communicator.h"
#include "device/box.h"
#include "device/kernels.h"
#include "request.h"

namespace weft {

// What carries an operation, a pattern or a schedule, as far as it is the same on all ranks.
struct Course {
  Protocol protocol;
  int chunks, flow_chunks;  // algorithms/pattern.h
  bool exchanges, in_rank_order;
  bool zero_copy;                 // if all ranks reach all buffers that it needs
  PatternId pattern;              // without a schedule
  const ScheduleSteps* schedule;  // or null
  uint32_t channels = 0;          // that the cost model takes; 0: by bytes

  uint64_t id() const { return schedule ? schedule->id : uint64_t(pattern); }
};

// How an operation is done: what all ranks choose alike.
struct Way {
  Course course;
  Region region;
  uint32_t packs_per_slot;
};

// What is moved: elements that are not reduced are bytes, whatever their type.
struct Elements {
  size_t count, bytes;
};
Elements elements_of(const Request& request);

Way way_of(const Communicator& comm, const Request& request);
// How many an operation of so many bytes takes alone.
uint32_t channels_for(const Communicator& comm, const Course& course, size_t bytes);
// Of a channel's share at least one pack a chunk, else parts of an exchange would be empty.
Chunking chunking_of(const Communicator& comm, const Request& request, const Way& way,
                     uint32_t most_channels);
// Of a block, of which the lanes beyond `spare` move packs.
uint32_t threads_for(const Communicator& comm, const Way& way, const Chunking& chunking,
                     uint32_t spare = 0);
// Two ranks with equal signatures move the same bytes in the same steps.
uint32_t signature_of(const Request& request, const Way& way, const Chunking& chunking);

}  // namespace weft
