// How many blocks and threads a launch takes by default: nvidia platform. Every platform folder has
// this file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../cost_table.h"
#include "../legality.h"
#include "device_platform.h"

namespace weft::platform {

// A block waits for fences and flags about half of its time; 64 of them keep the link of a pair of
// H200 busy where 32 do not (303 against 234 GB/s at 512 MiB, 2026-11-29).
inline constexpr uint32_t kDefaultChannels = 64;
inline constexpr uint32_t kDefaultThreads = 512;
// One more channel for so many bytes, by protocol.
inline constexpr size_t kBytesPerChannel = 32 << 10;
inline constexpr size_t kLlBytesPerChannel = 2 << 10;
inline constexpr size_t kLl128BytesPerChannel = 4 << 10;
// Lanes of a wave that keeps the books beside those that move packs (device/one_hop.h).
inline constexpr uint32_t kSpareLanes = 32;
// Of a FIFO slot: long enough that the fence and the flag of a slice are small beside its bytes.
inline constexpr uint32_t kMaxSliceBytes = 128 << 10;

// Zero-copy from so many bytes on (device/simple.h), 0: never.
inline constexpr size_t kZeroCopyBytes = 4 << 20;

// On two H200 4 x 10^9 elements came right (docs/performance.md).
inline constexpr Legality kLl128Legality = Legality::kProven;

// A pair of H200, CUDA 13, 2026-11-30, by weft-perf calibrate; hops as all-reduces showed them.
inline constexpr CostTable kCosts{
    .launch_us = 4,
    .ll = {2.9, 66e3},
    .ll128 = {3.2, 169e3},
    .simple = {6.3, 174e3},
    .zero_copy = {9.0, 286e3},
    .zero_copy_bytes = kZeroCopyBytes,
};

// Of a launch whose blocks need `scratch` bytes; what the lanes of a block share is static.
constexpr size_t shared_bytes(size_t scratch) { return scratch; }

}  // namespace weft::platform
