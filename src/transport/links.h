// Memory between this rank and every peer on its host: for each peer an inbox (the peer writes,
// this rank's device reads) and an outbox (this rank writes; it is the peer's inbox for us). Owns:
// choosing between same-process pointers, IPC of the device arena and shared host memory; proving
// each by a transfer. Does not own: what is laid out inside a box (device/fifo.h). Next on the
// path: device/engine.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.h"
#include "config.h"

namespace weft {

// What every rank tells the others about itself in the first all-gather; plain bytes, same layout
// on all ranks.
struct RankInfo {
  uint64_t host_hash;     // equal: same kernel and same boot (or equal NCCL_HOSTID)
  uint64_t process_hash;  // equal: same process
  int64_t pid;
  int64_t bus_id;    // packed PCI domain:bus:device.function
  uint8_t uuid[16];  // of the device
  int32_t device;    // HIP ordinal in its process
  int32_t rank;
  uint32_t wire_version;
  uint32_t library_version;
  uint64_t config_hash;  // of the settings that must be equal on all ranks
  char arch[32];         // "gfx942", "sm_90"
  char host_name[64];
  char visible[64];  // the variables that hide devices from the process, for messages; cut when
                     // longer
};

enum class LinkKind : uint8_t {
  kNone,  // not on this host: the network carries it
  kSelf,
  kDirect,  // same process, device pointer
  kIpc,     // other process, device memory mapped by IPC
  kShared,  // host memory both devices reach
};
const char* link_kind_text(
    LinkKind kind);  // RCCL's words: "P2P/direct pointer", "P2P/IPC", "SHM/direct/direct"

class Links {
 public:
  // Collective over all ranks of `bootstrap`. `box_bytes` is equal on all ranks. The current device
  // is this rank's. Boxes are zeroed before any peer can write to them. Throws Error naming both
  // ranks when no way to a peer works; a way that works in one direction only, or delivers wrong
  // bytes, is given up by both ends together with one WARN.
  static std::unique_ptr<Links> connect(Bootstrap& bootstrap, const std::vector<RankInfo>& ranks,
                                        size_t box_bytes, const Config& config);
  virtual ~Links() = default;

  // Device addresses, nullptr for kNone and kSelf.
  virtual void* inbox(int peer) const = 0;
  virtual void* outbox(int peer) const = 0;
  virtual LinkKind kind(int peer) const = 0;
  // "0[c1000] -> 1[c2000] via P2P/IPC", for log lines in RCCL's shape; "" for kSelf and kNone.
  virtual std::string description(int peer) const = 0;
  // After every peer confirmed that it no longer writes (or died): unmaps, gives the carve back to
  // the arena. `confirmed` false: peers may still write, so the carve is never used again.
  virtual void close(bool confirmed) noexcept = 0;
};

}  // namespace weft
