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
  // Part `index` when all have `each` packs and the first `longer` one more.
  WEFT_HD constexpr Packs part(size_t each, uint32_t longer, uint32_t index) const {
    const size_t from = start + index * each + (index < longer ? index : longer);
    return {from, from + each + (index < longer ? 1 : 0)};
  }
  // Part `index` of `parts` even ones. Of fewer than 2^32 packs: kernels divide 32 bits fast.
  WEFT_HD constexpr Packs even_part(uint32_t parts, uint32_t index) const {
    const auto all = uint32_t(size()), each = all / parts;
    return part(each, all - each * parts, index);
  }
};

struct ChunkingKey {
  size_t count;          // elements of the operation, or of one segment
  uint32_t pack_elems;   // elements in 16 bytes
  uint32_t channels;     // shares
  uint32_t chunks;       // into which a loop is cut; 1 where each chunk is a segment of its own
  uint32_t chunk_packs;  // most packs of a chunk
};

// Made on the host, which divides what need not be divided by every block.
struct Chunking : ChunkingKey {
  uint32_t loops;  // of every share
  uint32_t longer_shares, longer_loops;
  size_t share_packs, loop_packs;  // of the shorter ones

  Chunking() = default;
  constexpr explicit Chunking(const ChunkingKey& key) : ChunkingKey(key) {
    const size_t packs = packs_of(key), most = size_t(chunks) * chunk_packs;
    share_packs = packs / channels;
    longer_shares = uint32_t(packs % channels);
    const size_t longest = share_packs + (longer_shares > 0 ? 1 : 0);
    loops = uint32_t((longest + most - 1) / most);
    loop_packs = loops > 0 ? share_packs / loops : 0;
    longer_loops = loops > 0 ? uint32_t(share_packs % loops) : 0;
  }
  static constexpr size_t packs_of(const ChunkingKey& key) {
    return (key.count + key.pack_elems - 1) / key.pack_elems;
  }

  WEFT_HD constexpr Packs share(uint32_t channel) const {
    return Packs{}.part(share_packs, longer_shares, channel);
  }
  WEFT_HD constexpr Packs loop(const Packs& share, uint32_t index) const {
    const uint32_t longer = longer_loops + uint32_t(share.size() - share_packs);
    return share.part(loop_packs, longer, index);
  }
  // The elements of a chunk of a loop.
  WEFT_HD constexpr Range chunk(const Packs& loop, uint32_t chunk) const {
    const Packs packs = chunks == 1 ? loop : loop.even_part(chunks, chunk);
    const size_t last = packs.end * pack_elems < count ? packs.end * pack_elems : count;
    const size_t first = packs.start * pack_elems;
    return {first, last > first ? last - first : 0};
  }
};

}  // namespace weft
