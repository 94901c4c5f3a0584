// How many blocks and threads a launch takes by default: nvidia platform. Every platform folder has
// this file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::platform {

// 32 blocks of 512 threads with 4 packs each have 1 MiB in flight, about what NVLink 4 needs (450
// GB/s times 2 us).
inline constexpr uint32_t kDefaultChannels = 32;
inline constexpr uint32_t kDefaultThreads = 512;
// One more channel for so many bytes.
inline constexpr size_t kBytesPerChannel = 32 << 10;
// Of a FIFO slot: long enough that the fence and the flag of a slice are small beside its bytes.
inline constexpr uint32_t kMaxSliceBytes = 128 << 10;

// Of a launch whose blocks need `scratch` bytes; what the lanes of a block share is static.
constexpr size_t shared_bytes(size_t scratch) { return scratch; }

}  // namespace weft::platform
