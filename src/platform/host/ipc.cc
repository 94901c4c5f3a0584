// Handles name {process, descriptor, inode, place}. Opening one maps the other process's arena
// through /proc once, whatever number of handles into it are open; the inode proves that the
// descriptor still is what was exported. Pages of bells stay mapped: workers may have seats in
// them, and they are small.
#include "ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "arena.h"
#include "bell.h"
#include "faults.h"
#include "memory.h"
#include "runtime.h"
#include "stream.h"

namespace weft::hiphost {
namespace {

constexpr uint32_t kMemoryMagic = 0x6d656d31;
constexpr uint32_t kEventMagic = 0x65767431;

struct Handle {
  uint32_t magic;
  int32_t process;
  int32_t fd;
  uint32_t slot;  // events
  uint64_t inode;
  uint64_t arena_bytes;
  uint64_t base;    // of the allocation in the arena
  uint64_t bytes;   // of the allocation
  uint64_t offset;  // of the pointer in the allocation
};
static_assert(sizeof(Handle) <= HIP_IPC_HANDLE_SIZE);

struct Imported {
  Arena* arena = nullptr;
  ~Imported() {
    if (arena != nullptr) arena->unmap();
  }
};
using ImportRef = std::shared_ptr<Imported>;

struct Open {
  unsigned count = 0;
  ImportRef import;
};

struct Ipc {
  Lock lock;
  std::map<std::pair<int, uint64_t>, std::weak_ptr<Imported>> arenas;  // process, inode
  std::map<uint64_t, BellPage*> pages;                                 // inode
  std::map<void*, Open> open;                                          // pointer given out
};
Ipc& ipc() {
  static Ipc* i = new Ipc;
  return *i;
}

// A descriptor of another process, when it still is the file with that inode; else -1.
int open_of_process(int process, int fd, uint64_t inode) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", process, fd);
  const int mine = open(path, O_RDWR | O_CLOEXEC);
  if (mine < 0) return -1;
  struct stat status = {};
  if (fstat(mine, &status) == 0 && status.st_ino == inode) return mine;
  close(mine);
  return -1;
}

BellPage* map_bells(const ArenaHeader& header) {
  const auto known = ipc().pages.find(header.bell_inode);
  if (known != ipc().pages.end()) return known->second;
  const int fd = open_of_process(static_cast<int>(header.process), static_cast<int>(header.bell_fd),
                                 header.bell_inode);
  if (fd < 0) return nullptr;
  void* at = mmap(nullptr, sizeof(BellPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return nullptr;
  auto* page = static_cast<BellPage*>(at);
  ipc().pages[header.bell_inode] = page;
  return page;
}

// Null when the owner is gone, the file is another one, or there are no addresses left.
ImportRef import_arena(const Handle& h) {
  const bool lossy = fault(hipHostFaultLyingPeer);
  const std::pair<int, uint64_t> key{h.process, h.inode};
  if (const auto known = ipc().arenas.find(key); known != ipc().arenas.end() && !lossy) {
    if (ImportRef alive = known->second.lock()) return alive;
  }
  const int fd = open_of_process(h.process, h.fd, h.inode);
  if (fd < 0) return nullptr;
  auto import = std::make_shared<Imported>();
  import->arena = Arena::import(fd, h.arena_bytes, lossy);
  if (import->arena == nullptr) return nullptr;
  import->arena->set_bells(h.process == getpid() ? own_bells()
                                                 : map_bells(import->arena->header()));
  if (!lossy) ipc().arenas[key] = import;
  return import;
}

bool inside(const Handle& h) {
  return h.base <= h.arena_bytes && h.bytes <= h.arena_bytes - h.base && h.offset < h.bytes;
}

hipError_t export_memory(hipIpcMemHandle_t* out, void* pointer) {
  if (out == nullptr || pointer == nullptr) return hipErrorInvalidValue;
  if (fault(hipHostFaultIpcExport)) return hipErrorInvalidValue;
  const auto a = find_allocation(pointer);
  if (!a || a->type != hipMemoryTypeDevice || a->imported) return hipErrorInvalidValue;
  const Handle h{kMemoryMagic,
                 getpid(),
                 a->arena->fd(),
                 0,
                 a->arena->inode(),
                 a->arena->bytes(),
                 static_cast<uint64_t>(a->base - a->arena->base()),
                 a->bytes,
                 static_cast<uint64_t>(static_cast<char*>(pointer) - a->base)};
  memset(out, 0, sizeof *out);
  memcpy(out, &h, sizeof h);
  return hipSuccess;
}

// In the exporting process the memory is simply there.
hipError_t open_own(const Handle& h, void** pointer) {
  for (const auto& device : runtime().devices) {
    const Arena* arena = device->arena;
    if (arena == nullptr || arena->inode() != h.inode) continue;
    char* at = arena->base() + h.base + h.offset;
    if (!find_allocation(at)) return hipErrorInvalidDevicePointer;
    ++ipc().open[at].count;
    *pointer = at;
    return hipSuccess;
  }
  return hipErrorInvalidDevicePointer;
}

hipError_t open_memory(void** pointer, const hipIpcMemHandle_t& handle, unsigned flags) {
  if (pointer == nullptr || flags != hipIpcMemLazyEnablePeerAccess) return hipErrorInvalidValue;
  if (fault(hipHostFaultIpcImport)) return hipErrorInvalidDevicePointer;
  Handle h;
  memcpy(&h, &handle, sizeof h);
  if (h.magic != kMemoryMagic || !inside(h)) return hipErrorInvalidValue;
  const std::lock_guard guard(ipc().lock);
  if (h.process == getpid() && !fault(hipHostFaultLyingPeer)) return open_own(h, pointer);
  ImportRef import = import_arena(h);
  if (import == nullptr) return hipErrorInvalidDevicePointer;
  char* base = import->arena->base() + h.base;
  Open& open = ipc().open[base + h.offset];
  if (open.count++ == 0) {
    open.import = import;
    Allocation a;
    a.base = base;
    a.bytes = h.bytes;
    a.device = current_device();
    a.arena = import->arena;
    a.imported = true;
    if (!find_allocation(base)) insert_allocation(a);
  }
  *pointer = base + h.offset;
  return hipSuccess;
}

// Other open handles into the same allocation keep its entry in the table.
bool still_open(const Allocation& a) {
  const auto it = ipc().open.lower_bound(a.base);
  return it != ipc().open.end() && it->first < a.base + a.bytes;
}

hipError_t close_memory(void* pointer) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  const auto a = find_allocation(pointer);
  if (a) {
    if (const hipError_t error = wait_for_device(a->device); error != hipSuccess) return error;
  }
  ImportRef gone;
  const std::lock_guard guard(ipc().lock);
  const auto it = ipc().open.find(pointer);
  if (it == ipc().open.end()) return hipErrorInvalidValue;
  if (--it->second.count > 0) return hipSuccess;
  gone = std::move(it->second.import);
  ipc().open.erase(it);
  if (a && a->imported && !still_open(*a)) remove_allocation(a->base);
  return hipSuccess;
}

}  // namespace

EventSlot* take_event_slot(int device) {
  ArenaHeader& header = arena_of(*runtime().devices[static_cast<size_t>(device)]).header();
  for (EventSlot& slot : header.events) {
    uint32_t free = 0;
    if (!slot.references.compare_exchange_strong(free, 1)) continue;
    slot.recorded.store(0);
    slot.completed.store(0);
    return &slot;
  }
  return nullptr;
}

void drop_event_slot(ihipEvent_t& event) { event.slot->references.fetch_sub(1); }

}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* pointer) {
  return enter([&] { return export_memory(handle, pointer); });
}
extern "C" hipError_t hipIpcOpenMemHandle(void** pointer, hipIpcMemHandle_t handle,
                                          unsigned int flags) {
  return enter([&] { return open_memory(pointer, handle, flags); });
}
extern "C" hipError_t hipIpcCloseMemHandle(void* pointer) {
  return enter([&] { return close_memory(pointer); });
}

extern "C" hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t* handle, hipEvent_t event) {
  return enter([&] {
    if (handle == nullptr) return hipErrorInvalidValue;
    const std::lock_guard guard(streams_lock());
    if (event == nullptr || !event_is_live(event)) return hipErrorInvalidHandle;
    if (event->slot == nullptr || event->imported != nullptr) return hipErrorInvalidHandle;
    const Arena& arena = arena_of(*runtime().devices[static_cast<size_t>(event->device)]);
    Handle h{};
    h.magic = kEventMagic;
    h.process = getpid();
    h.fd = arena.fd();
    h.slot = static_cast<uint32_t>(event->slot - arena.header().events);
    h.inode = arena.inode();
    h.arena_bytes = arena.bytes();
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &h, sizeof h);
    return hipSuccess;
  });
}

extern "C" hipError_t hipIpcOpenEventHandle(hipEvent_t* event, hipIpcEventHandle_t handle) {
  return enter([&] {
    Handle h;
    memcpy(&h, &handle, sizeof h);
    if (event == nullptr || h.magic != kEventMagic || h.slot >= kEventSlots) {
      return hipErrorInvalidValue;
    }
    ImportRef import;
    {
      const std::lock_guard guard(ipc().lock);
      import = import_arena(h);
    }
    if (import == nullptr) return hipErrorInvalidHandle;
    EventSlot& slot = import->arena->header().events[h.slot];
    uint32_t references = slot.references.load();
    do {
      if (references == 0) return hipErrorInvalidHandle;  // destroyed meanwhile
    } while (!slot.references.compare_exchange_weak(references, references + 1));
    const std::lock_guard guard(streams_lock());
    *event = new_event(current_device(), hipEventInterprocess | hipEventDisableTiming);
    (*event)->slot = &slot;
    (*event)->imported = import;
    return hipSuccess;
  });
}
