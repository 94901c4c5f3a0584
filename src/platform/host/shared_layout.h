// Memory that processes of one host share: the header at the start of a device's arena, and the
// page of doorbells of a process. Plain data at fixed offsets, because another build of this
// library may be on the other side; `version` guards that. The owner creates and zeroes both;
// importers map them (ipc.cc). Who rings and who sleeps is in bell.cc.
#pragma once

#include <cstdint>

#include "sync.h"

namespace weft::hiphost {

inline constexpr uint64_t kArenaMagic = 0x616e657261746677ull;
inline constexpr uint32_t kLayoutVersion = 1;

// A sleeping place of one worker thread. Its own process's page has one per worker; a worker that
// polls memory of another process takes one more in the page of that process.
inline constexpr int kMaskWords = 8;
struct alignas(64) BellSlot {
  Word sequence;  // futex word: changes with every ring
  Word sleeping;  // kAwake, kWaiting: rings on a store whose address is in mask; kIdle: only new
                  // work rings
  Word owner;     // process id, 0: free
  uint32_t reserved;
  std::atomic<uint64_t> mask[kMaskWords];  // one bit per hashed address
};
inline constexpr uint32_t kAwake = 0, kWaiting = 1, kIdle = 2;

inline constexpr int kBellSlots = 128;
struct BellPage {
  uint64_t magic;
  uint32_t version;
  uint32_t process;
  uint32_t workers;          // slots that belong to the owner
  alignas(64) Word waiting;  // slots in kWaiting; read by every notify, written only around sleeps
  Word used;                 // slots ever taken, so that a ring looks at no more
  BellSlot slots[kBellSlots];
};

// An event that other processes may open: counts of records enqueued and of records that have
// happened.
struct alignas(64) EventSlot {
  std::atomic<uint64_t> recorded;
  std::atomic<uint64_t> completed;
  Word references;  // processes that hold it; the owner reuses a slot at 0
};
inline constexpr int kEventSlots = 512;

struct ArenaHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t process;
  uint64_t arena_bytes;
  uint32_t bell_fd;  // descriptor of the page of bells in the owning process
  uint32_t ordinal;  // physical device
  uint64_t bell_inode;
  alignas(64) EventSlot events[kEventSlots];
};
inline constexpr size_t kHeaderBytes = size_t{64} << 10;
static_assert(sizeof(ArenaHeader) <= kHeaderBytes);

}  // namespace weft::hiphost
