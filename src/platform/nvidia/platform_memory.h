// Which memory other devices may read and write while a kernel runs, and what to tell a user when
// that fails: nvidia platform. Every platform folder has this file with the same names (contract:
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

// Kinds to try, best first. None of them granted: this device takes no part in P2P. CUDA has one
// kind: system-scope accesses to it work while kernels run.
inline constexpr std::array<PeerMemoryKind, 1> kPeerMemoryKinds = {{
    {hipDeviceMallocDefault, "cudaMalloc"},
}};

// For hipHostRegister of memory that devices of several processes poll and write.
inline constexpr unsigned kSharedRegisterFlags = hipHostRegisterPortable | hipHostRegisterMapped;

// What a user may do when device memory cannot be exported or imported, and when a transfer over an
// opened path failed.
inline std::string_view ipc_remedy() {
  return "Ranks in containers need one IPC and PID namespace (docker run --ipc=host --pid=host)";
}
inline std::string_view peer_remedy() {
  return "nvidia-smi topo -p2p rw tells which devices reach each other; PCIe ACS or an IOMMU in "
         "the way breaks it";
}

}  // namespace weft::platform
