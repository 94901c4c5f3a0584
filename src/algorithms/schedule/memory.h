// Where the chunks of a schedule lie at a place, as cells: input, output, scratch. Of an operation
// in place some of them are the same. For what follows a schedule step by step (check.cc,
// steps.cc).
#pragma once

#include <utility>
#include <vector>

#include "algorithms/schedule/schedule.h"

namespace weft {

class ScheduleMemory {
 public:
  ScheduleMemory(const Schedule& schedule, bool in_place) : s_(schedule), in_place_(in_place) {}

  // Chunks of one place's part, where a buffer has one a place.
  int segment() const { return s_.chunks / int(s_.places.size()); }

  size_t cells(int place) const {
    return size_t(2 * s_.chunks + s_.places[size_t(place)].scratch_chunks);
  }
  // In place, the buffer of one segment is a part of the other one, or both are one.
  size_t cell(int place, ScheduleBuffer buffer, int chunk) const {
    if (buffer == ScheduleBuffer::kScratch) return size_t(2 * s_.chunks + chunk);
    const bool output = buffer == ScheduleBuffer::kOutput;
    if (!in_place_) return size_t((output ? s_.chunks : 0) + chunk);
    const auto [in, out] = buffer_shape(s_.collective, false);
    const bool part = in != out && (output ? out : in) == Segments::kOne;
    return size_t((part ? place * segment() : 0) + chunk);
  }

  // The chunks of a place's input and output as {chunk of the buffer, number}: a chunk's number is
  // what it has in the longer buffer.
  std::vector<std::pair<int, int>> inputs(int place) const {
    return numbered(place, s_.collective == Collective::kAllGather);
  }
  std::vector<std::pair<int, int>> outputs(int place) const {
    return numbered(place, s_.collective == Collective::kReduceScatter);
  }

 private:
  std::vector<std::pair<int, int>> numbered(int place, bool one_segment) const {
    std::vector<std::pair<int, int>> chunks;
    for (int chunk = 0; chunk < (one_segment ? segment() : s_.chunks); ++chunk)
      chunks.emplace_back(chunk, one_segment ? place * segment() + chunk : chunk);
    return chunks;
  }

  const Schedule& s_;
  bool in_place_;
};

}  // namespace weft
