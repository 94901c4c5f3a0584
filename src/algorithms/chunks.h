// Which elements a chunk is. Pure arithmetic, the same on every rank and for every grid, used by
// kernels and the simulator.
//
// The elements of an operation are cut into packs of 16 bytes (the last may be partial); packs are
// dealt to channels in contiguous shares, a share is walked in loops, a loop has one chunk per
// place. Cuts fall between packs, so a buffer that is aligned to 16 bytes is aligned at every cut.
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

// The packs of one channel.
struct Share {
  size_t start = 0, end = 0;
};

// The packs of one loop, cut into chunks of `chunk_packs`.
struct Loop {
  size_t start = 0, end = 0, chunk_packs = 0;
};

struct Chunking {
  size_t count;          // elements of the operation
  uint32_t pack_elems;   // elements in 16 bytes
  uint32_t channels;     // shares
  uint32_t chunks;       // chunks in a loop: the number of places
  uint32_t chunk_packs;  // most packs of a chunk

  WEFT_HD constexpr size_t packs() const { return (count + pack_elems - 1) / pack_elems; }
  WEFT_HD constexpr size_t loop_packs() const { return size_t(chunks) * chunk_packs; }

  // The first shares are one pack longer when it does not come out even.
  WEFT_HD constexpr Share share(uint32_t channel) const {
    const size_t each = packs() / channels, longer = packs() % channels;
    const size_t start = channel * each + (channel < longer ? channel : longer);
    return {start, start + each + (channel < longer ? 1 : 0)};
  }

  WEFT_HD constexpr uint32_t loops(const Share& share) const {
    return uint32_t((share.end - share.start + loop_packs() - 1) / loop_packs());
  }

  // The last loop spreads what is left evenly over its chunks; late chunks may be short or empty.
  WEFT_HD constexpr Loop loop(const Share& share, uint32_t index) const {
    const size_t start = share.start + index * loop_packs(), left = share.end - start;
    if (left >= loop_packs()) return {start, start + loop_packs(), chunk_packs};
    return {start, share.end, (left + chunks - 1) / chunks};
  }

  WEFT_HD constexpr Range chunk(const Loop& loop, uint32_t chunk) const {
    const size_t from = loop.start + chunk * loop.chunk_packs;
    if (from >= loop.end) return {};
    const size_t to = from + loop.chunk_packs < loop.end ? from + loop.chunk_packs : loop.end;
    const size_t last = to * pack_elems < count ? to * pack_elems : count;
    return {from * pack_elems, last - from * pack_elems};
  }
};

}  // namespace weft
