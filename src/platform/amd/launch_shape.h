// How many blocks and threads a launch takes by default: amd platform. Every platform folder has
// this file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../cost_table.h"
#include "../legality.h"
#include "device_platform.h"

namespace weft::platform {

// MI300X: 7 xGMI links lead to the 7 peers of a node and 28 channels put 4 blocks on each; a block
// is dealt to the next of 8 XCDs, so that 28 take at most 4 of the 38 compute units of one. Not
// measured: no AMD device was at hand. NCCL_MAX_NCHANNELS changes it.
inline constexpr uint32_t kDefaultChannels = 28;
// Four waves of 64 (gfx9) or eight of 32: one or two for each SIMD of a compute unit.
inline constexpr uint32_t kDefaultThreads = 256;
// One more channel for so many bytes, by protocol.
inline constexpr size_t kBytesPerChannel = 32 << 10;
inline constexpr size_t kLlBytesPerChannel = 2 << 10;
inline constexpr size_t kLl128BytesPerChannel = 4 << 10;
// Lanes of a wave that keeps the books beside those that move packs (device/one_hop.h).
inline constexpr uint32_t kSpareLanes = 64;
// Of a FIFO slot.
inline constexpr uint32_t kMaxSliceBytes = 256 << 10;

// Zero-copy from so many bytes on (device/simple.h), 0: never. Off until a machine has shown that
// it keeps the order that reads of cacheable memory of a peer need (docs/memory-model.md, M6).
inline constexpr size_t kZeroCopyBytes = 0;

// RCCL uses LL128 on gfx942; no test of ours has run there.
inline constexpr Legality kLl128Legality = Legality::kOnRecord;

// MI300X by its links (7 of 48 GB/s usable) and latencies that others published; not measured.
inline constexpr CostTable kCosts{
    .launch_us = 4,
    .ll = {2.5, 100e3},
    .ll128 = {2.7, 200e3},
    .simple = {10.0, 300e3},
    .zero_copy = {10.0, 320e3},
    .zero_copy_bytes = kZeroCopyBytes,
};

// Of a launch whose blocks need `scratch` bytes: what blocks share anyway is static (block_kernel).
constexpr size_t shared_bytes(size_t scratch) { return scratch; }

}  // namespace weft::platform
