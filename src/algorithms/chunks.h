// Which elements a chunk is. Pure arithmetic, the same on every rank and for every grid, used by kernels and the simulator.
//
// The elements of an operation are cut into packs of 16 bytes (the last may be partial); packs are dealt to channels in
// contiguous shares, a share is walked in loops, a loop has one chunk per place. Cuts fall between packs, so a buffer that is
// aligned to 16 bytes is aligned at every cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device_platform.h"

namespace weft {

struct Range {
  size_t first = 0;  // element
  size_t count = 0;
};

struct Chunking {
  size_t count;         // elements of the operation
  uint32_t pack_elems;  // elements in 16 bytes
  uint32_t channels;    // shares
  uint32_t chunks;      // chunks in a loop: the number of places
  uint32_t chunk_packs; // most packs of a chunk

  WEFT_HD constexpr size_t packs() const { return (count + pack_elems - 1) / pack_elems; }

  // Packs of the operation before `channel`; the first shares are one pack longer when it does not come out even.
  WEFT_HD constexpr size_t share_start(uint32_t channel) const {
    const size_t each = packs() / channels, longer = packs() % channels;
    return channel * each + (channel < longer ? channel : longer);
  }

  WEFT_HD constexpr uint32_t loops(uint32_t channel) const {
    const size_t share = share_start(channel + 1) - share_start(channel), loop = size_t(chunks) * chunk_packs;
    return uint32_t((share + loop - 1) / loop);
  }

  // The last loop spreads what is left evenly over its chunks; late chunks may be empty.
  WEFT_HD constexpr Range chunk(uint32_t channel, uint32_t loop, uint32_t chunk) const {
    const size_t loop_packs = size_t(chunks) * chunk_packs;
    const size_t start = share_start(channel) + loop * loop_packs, end = share_start(channel + 1);
    const size_t left = end - start;
    const size_t size = left >= loop_packs ? chunk_packs : (left + chunks - 1) / chunks;
    const size_t from = start + chunk * size, to = from + size < end ? from + size : end;
    if (from >= to) return {};
    const size_t last = to * pack_elems < count ? to * pack_elems : count;
    return {from * pack_elems, last - from * pack_elems};
  }
};

}  // namespace weft
