// Which memory other devices may read and write while a kernel runs, and what to tell a user when
// that fails: amd platform. Every platform folder has this file with the same names (contract:
// src/platform/README.md). Host code only.
#pragma once

#include <hip/hip_runtime.h>

#include <array>
#include <string_view>

namespace weft::platform {

// One argument of hipExtMallocWithFlags, and its name for messages.
struct PeerMemoryKind {
  unsigned flags;
  const char* name;
};

// The value of hipDeviceMallocUncached, which headers before HIP 5.7 do not have. A runtime that
// does not know it answers "invalid value".
inline constexpr unsigned kMallocUncached = 0x3;
#ifdef hipDeviceMallocUncached
static_assert(hipDeviceMallocUncached == kMallocUncached);
#endif

// Kinds to try, best first. Uncached memory is what no device caches, on any architecture and
// whatever the driver's settings; finegrained memory is that on gfx90a, and on gfx942 and gfx950
// cached by its owner with coherence kept by the fabric (docs/memory-model.md, memory kinds).
inline constexpr std::array<PeerMemoryKind, 2> kPeerMemoryKinds = {{
    {kMallocUncached, "hipDeviceMallocUncached"},
    {hipDeviceMallocFinegrained, "hipDeviceMallocFinegrained"},
}};

// For hipHostRegister of memory that devices of several processes poll and write.
inline constexpr unsigned kSharedRegisterFlags = hipHostRegisterPortable | hipHostRegisterMapped;

// What a user may do when device memory cannot be exported or imported, and when a transfer over an
// opened path failed.
inline std::string_view ipc_remedy() {
  return "Processes must see the same /dev/kfd and share a PID namespace or have CAP_SYS_PTRACE "
         "(docker: --ipc=host --cap-add=SYS_PTRACE); HSA_ENABLE_IPC_MODE_LEGACY chooses how memory "
         "is exported";
}
inline std::string_view peer_remedy() {
  return "Peer access on PCIe needs large BAR and iommu=pt on the kernel command line; rocm-smi "
         "--showtopo and amd-smi topology say which devices reach each other, dmesg shows page "
         "faults of amdgpu";
}

}  // namespace weft::platform
