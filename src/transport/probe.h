// Proves that what this device stores through an outbox arrives in the peer's inbox: a small
// transfer with the stores and loads that the engine uses, from a kernel, and by the copy engine.
// The capability bit of a machine alone is not trusted (reference/pain.md 5). Owns: the pattern and
// its two steps. Does not own: when they run and what follows (trial.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "side_stream.h"

namespace weft {

// A probe uses the first 1024 and the last 256 bytes of a box.
inline constexpr size_t kMinBoxBytes = 4096;

// The pattern of one direction of one pair in one init: nobody else's, and not that of an earlier
// init.
uint64_t probe_seed(uint64_t nonce, int from, int to);

// Both run on the current device and wait with a limit. They return "" or what went wrong; they do
// not throw. Stores the pattern at the start and the end of `outbox` by a kernel, and in between by
// a copy whose source is in `inbox`, the box of the same peer.
std::string probe_write(SideStream& stream, void* outbox, void* inbox, size_t box_bytes,
                        uint64_t seed);
// Compares what is in `inbox` with the pattern, then zeroes what the probe touched.
std::string probe_check(SideStream& stream, void* inbox, size_t box_bytes, uint64_t seed);

}  // namespace weft
