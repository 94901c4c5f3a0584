// The device side of the probe (probe.h), and how to launch it. Compiled as device code.
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>

namespace weft {

// What a check leaves at kProbeResultOffset of the box.
struct ProbeResult {
  uint64_t done;        // kProbeDone
  uint64_t wrong;       // words that differ
  uint64_t first;       // byte offset of the first of them
  uint64_t seen, want;  // and its values
};
inline constexpr uint64_t kProbeDone = 0x656e6f6465626f72u;
inline constexpr size_t kProbePatternBytes = 256;
// Where things are in a box: what the kernel stores (here and in the last 256 bytes), the result,
// what the copy engine writes, and what this rank's copy engine takes from its own inbox.
inline constexpr size_t kProbeResultOffset = 256;
inline constexpr size_t kProbeCopiedOffset = 512;
inline constexpr size_t kProbeSourceOffset = 768;
inline constexpr size_t kProbeHeadBytes = 1024;

struct ProbeArgs {
  void* box;
  void* source;  // null: compare what is in `box` and leave a ProbeResult; else: store in `box`,
                 // and what is to be copied here
  uint64_t box_bytes;
  uint64_t seed;
};

hipError_t launch_probe(const ProbeArgs& args, hipStream_t stream);

}  // namespace weft
