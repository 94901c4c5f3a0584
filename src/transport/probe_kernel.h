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
inline constexpr size_t kProbeResultOffset = kProbePatternBytes;

struct ProbeArgs {
  void* box;
  uint64_t box_bytes;
  uint64_t seed;
  uint32_t check;  // 0: store the pattern; 1: compare and leave a ProbeResult
};

hipError_t launch_probe(const ProbeArgs& args, hipStream_t stream);

}  // namespace weft
