// Which elements a chunk is. Pure arithmetic, the same on every rank and for every grid, used by
// kernels and the simulator.
//
// The elements of an operation are cut into packs of 16 bytes (the last may be partial); packs are
// dealt to channels, those of a channel to loops, those of a loop to chunks, each time evenly: as
// long as there are packs enough, no part is empty. Cuts fall between packs, so a buffer that is
// aligned to 16 bytes is aligned at every cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device_platform.h"

namespace weft {

inline constexpr size_t kPackBytes = 16;

struct Range {
  size_t first = 0;  // element
  size_t count = 0;
};

// Consecutive packs.
struct Packs {
  size_t start = 0, end = 0;

  WEFT_HD constexpr size_t size() const { return end - start; }
  // Part `index` of `parts` even ones, the first ones a pack longer when it does not come out even.
  WEFT_HD constexpr Packs part(uint32_t parts, uint32_t index) const {
    if (parts == 1) return *this;
    const size_t each = size() / parts, longer = size() - each * parts;
    const size_t from = start + index * each + (index < longer ? index : longer);
    return {from, from + each + (index < longer ? 1 : 0)};
  }
};

struct Chunking {
  size_t count;          // elements of the operation, or of one segment
  uint32_t pack_elems;   // elements in 16 bytes
  uint32_t channels;     // shares
  uint32_t chunks;       // into which a loop is cut; 1 where each chunk is a segment of its own
  uint32_t chunk_packs;  // most packs of a chunk

  WEFT_HD constexpr Packs all() const { return {0, (count + pack_elems - 1) / pack_elems}; }
  WEFT_HD constexpr Packs share(uint32_t channel) const { return all().part(channels, channel); }

  WEFT_HD constexpr uint32_t loops(const Packs& share) const {
    const size_t loop_packs = size_t(chunks) * chunk_packs;
    return share.size() <= loop_packs ? (share.size() > 0 ? 1 : 0)
                                      : uint32_t((share.size() + loop_packs - 1) / loop_packs);
  }
  WEFT_HD constexpr Packs loop(const Packs& share, uint32_t loops, uint32_t index) const {
    return share.part(loops, index);
  }
  // The elements of a chunk of a loop.
  WEFT_HD constexpr Range chunk(const Packs& loop, uint32_t chunk) const {
    const Packs packs = chunks == 1 ? loop : loop.part(chunks, chunk);
    const size_t last = packs.end * pack_elems < count ? packs.end * pack_elems : count;
    const size_t first = packs.start * pack_elems;
    return {first, last > first ? last - first : 0};
  }
};

}  // namespace weft
