// How many blocks and threads a launch takes by default: host platform. Every platform folder has
// this file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../cost_table.h"
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
inline constexpr size_t kZeroCopyBytes = 1 << 10;

inline constexpr Legality kLl128Legality = Legality::kProven;

// Four ranks as processes on two cores, 2026-12-01: a hop is a change of threads, and lines cost
// some 25 ns each, those of LL128 not much less.
inline constexpr CostTable kCosts{
    .launch_us = 4,
    .ll = {12, 70},
    .ll128 = {18, 160},
    .simple = {16, 450},
    .zero_copy = {17, 1800},
    .zero_copy_bytes = kZeroCopyBytes,
};

// Of a launch whose blocks need `scratch` bytes: they lie behind what the lanes of a block share
// anyway.
constexpr size_t shared_bytes(size_t scratch) { return sizeof(BlockShared) + scratch; }

}  // namespace weft::platform
