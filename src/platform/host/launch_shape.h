// How many blocks and threads a launch takes by default: host platform. Every platform folder has
// this file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../legality.h"
#include "device_platform.h"

namespace weft::platform {

// A block is a fiber; two a rank keep both cores of a small machine busy. Threads do not matter: a
// block has kHostLanes lanes.
inline constexpr uint32_t kDefaultChannels = 2;
inline constexpr uint32_t kDefaultThreads = 64;
// One more channel for so many bytes, by protocol.
inline constexpr size_t kBytesPerChannel = 32 << 10;
inline constexpr size_t kLlBytesPerChannel = 8 << 10;
inline constexpr size_t kLl128BytesPerChannel = 8 << 10;
// Lanes of a wave that keeps the books beside those that move packs (device/one_hop.h).
inline constexpr uint32_t kSpareLanes = 0;
// Of a FIFO slot: a slice stays in a core's cache on its way from the sender's to the receiver's
// loop.
inline constexpr uint32_t kMaxSliceBytes = 128 << 10;

// Zero-copy from so many bytes on (device/simple.h), 0: never.
inline constexpr size_t kZeroCopyBytes = 1 << 20;

inline constexpr Legality kLl128Legality = Legality::kProven;

// What a message costs over a protocol, for the choice among algorithms (algorithms/select.h): one
// hop, and bytes of one rank to all others together. Two cores, 2026-11-30.
struct ProtocolCost {
  double hop_us, bytes_per_us;
};
inline constexpr ProtocolCost kLlCost{1.0, 1e3}, kLl128Cost{1.2, 4e3}, kSimpleCost{2.0, 8e3},
    kZeroCopyCost{2.0, 12e3};

// Of a launch whose blocks need `scratch` bytes: they lie behind what the lanes of a block share
// anyway.
constexpr size_t shared_bytes(size_t scratch) { return sizeof(BlockShared) + scratch; }

}  // namespace weft::platform
