// The table of allocations and the calls that make and end them. Copies are in copy.cc, questions
// about pointers in pointer.cc, handles for other processes in ipc.cc.
#include "memory.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "arena.h"
#include "capture.h"
#include "faults.h"
#include "runtime.h"
#include "stream.h"

namespace weft::hiphost {
namespace {

struct Table {
  Lock lock;
  std::map<uintptr_t, Allocation> by_base;
  uint64_t next_id = 1;
  std::atomic<unsigned> registered{0};
};
Table& table() {
  static Table* t = new Table;
  return *t;
}
Lock arena_lock;

uintptr_t key(const volatile void* p) { return reinterpret_cast<uintptr_t>(p); }

const Allocation* look_up(const volatile void* p) {
  Table& t = table();
  auto it = t.by_base.upper_bound(key(p));
  if (it == t.by_base.begin()) return nullptr;
  --it;
  return key(p) - it->first < std::max<size_t>(it->second.bytes, 1) ? &it->second : nullptr;
}

hipError_t free_now(void* pointer) {
  const std::optional<Allocation> removed = remove_allocation(pointer);
  if (!removed) return hipErrorInvalidValue;
  give_back(*removed);
  return hipSuccess;
}

// hipFree and hipHostFree: nothing that was enqueued on the device may still use the memory.
hipError_t free_after_device(void* pointer, bool host) {
  if (pointer == nullptr) return hipSuccess;
  const std::optional<Allocation> a = find_allocation(pointer);
  if (!a || a->base != pointer || a->imported || a->arena == nullptr) return hipErrorInvalidValue;
  if (host && a->type == hipMemoryTypeDevice) return hipErrorInvalidValue;
  if (const hipError_t error = wait_for_device(a->device); error != hipSuccess) return error;
  return free_now(pointer);
}

hipError_t allocate_for_thread(void** pointer, size_t bytes, hipMemoryType type, unsigned flags) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  if (const hipError_t error = check_not_capturing(); error != hipSuccess) return error;
  if (bytes == 0) {
    *pointer = nullptr;
    return hipSuccess;
  }
  return allocate({current_device(), bytes, type, flags}, pointer);
}

bool valid_device_flags(unsigned flags) {
  return flags == hipDeviceMallocDefault || flags == hipDeviceMallocFinegrained ||
         flags == hipMallocSignalMemory || flags == hipDeviceMallocUncached ||
         flags == hipDeviceMallocContiguous;
}

}  // namespace

std::optional<Allocation> find_allocation(const volatile void* p) {
  const std::lock_guard guard(table().lock);
  const Allocation* found = look_up(p);
  return found == nullptr ? std::nullopt : std::optional<Allocation>(*found);
}

void insert_allocation(Allocation allocation) {
  const std::lock_guard guard(table().lock);
  allocation.id = table().next_id++;
  if (allocation.arena == nullptr) ++table().registered;
  table().by_base[key(allocation.base)] = allocation;
}

std::optional<Allocation> remove_allocation(const void* base) {
  const std::lock_guard guard(table().lock);
  const auto it = table().by_base.find(key(base));
  if (it == table().by_base.end()) return std::nullopt;
  const Allocation removed = it->second;
  table().by_base.erase(it);
  if (removed.arena == nullptr) --table().registered;
  return removed;
}

hipError_t allocate(const AllocationRequest& request, void** pointer) {
  const bool on_device = request.type == hipMemoryTypeDevice;
  if (on_device && counted_fault(hipHostFaultMalloc)) return hipErrorOutOfMemory;
  Arena& arena =
      on_device ? arena_of(*runtime().devices[static_cast<size_t>(request.device)]) : host_arena();
  void* block = nullptr;
  {
    const std::lock_guard guard(arena_lock);
    block = arena.allocate(request.bytes);
  }
  if (block == nullptr) return hipErrorOutOfMemory;
  Allocation allocation;
  allocation.base = static_cast<char*>(block);
  allocation.bytes = request.bytes;
  allocation.type = request.type;
  allocation.device = request.device;
  allocation.flags = request.flags;
  allocation.arena = &arena;
  insert_allocation(allocation);
  *pointer = block;
  return hipSuccess;
}

void give_back(const Allocation& allocation) {
  if (allocation.arena == nullptr || allocation.imported) return;
  const std::lock_guard guard(arena_lock);
  allocation.arena->release(allocation.base);
}

bool any_registered(const std::vector<const volatile void*>& addresses) {
  if (table().registered.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard guard(table().lock);
  for (const volatile void* p : addresses) {
    const Allocation* found = look_up(p);
    if (found != nullptr && found->arena == nullptr) return true;
  }
  return false;
}

std::string describe_address(const volatile void* p) {
  char text[160];
  const std::optional<Allocation> a = find_allocation(p);
  if (!a) {
    snprintf(text, sizeof text, "%p", const_cast<const void*>(p));
    return text;
  }
  const size_t offset = static_cast<size_t>(static_cast<const volatile char*>(p) - a->base);
  uint32_t word = 0;
  if (offset + sizeof word <= a->bytes) memcpy(&word, a->base + offset, sizeof word);
  snprintf(text, sizeof text, "%p (%s %d%s, allocation of %zu bytes, offset %zu, holds 0x%08x)",
           const_cast<const void*>(p), a->type == hipMemoryTypeDevice ? "device" : "host memory of",
           a->device, a->imported ? ", another process" : "", a->bytes, offset, word);
  return text;
}

}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipMalloc(void** pointer, size_t bytes) {
  return enter([&] {
    return allocate_for_thread(pointer, bytes, hipMemoryTypeDevice, hipDeviceMallocDefault);
  });
}

extern "C" hipError_t hipExtMallocWithFlags(void** pointer, size_t bytes, unsigned int flags) {
  return enter([&] {
    if (!valid_device_flags(flags)) return hipErrorInvalidValue;
    return allocate_for_thread(pointer, bytes, hipMemoryTypeDevice, flags);
  });
}

extern "C" hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  return enter([&] {
    if (flags != hipMemAttachGlobal && flags != hipMemAttachHost) return hipErrorInvalidValue;
    return allocate_for_thread(pointer, bytes, hipMemoryTypeManaged, flags);
  });
}

extern "C" hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned int flags) {
  return enter([&] {
    constexpr unsigned kBoth = hipHostMallocCoherent | hipHostMallocNonCoherent;
    if ((flags & kBoth) == kBoth) return hipErrorInvalidValue;
    return allocate_for_thread(pointer, bytes, hipMemoryTypeHost, flags);
  });
}
extern "C" hipError_t hipHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return hipHostMalloc(pointer, bytes, flags);
}
extern "C" hipError_t hipMallocHost(void** pointer, size_t bytes) {
  return hipHostMalloc(pointer, bytes, 0);
}
extern "C" hipError_t hipMemAllocHost(void** pointer, size_t bytes) {
  return hipHostMalloc(pointer, bytes, 0);
}

extern "C" hipError_t hipFree(void* pointer) {
  return enter([&] {
    if (const hipError_t error = check_not_capturing(); error != hipSuccess) return error;
    return free_after_device(pointer, false);
  });
}
extern "C" hipError_t hipHostFree(void* pointer) {
  return enter([&] {
    if (const hipError_t error = check_not_capturing(); error != hipSuccess) return error;
    return free_after_device(pointer, true);
  });
}
extern "C" hipError_t hipFreeHost(void* pointer) { return hipHostFree(pointer); }

extern "C" hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t stream) {
  return enter([&] {
    if (pointer == nullptr) return hipErrorInvalidValue;
    StreamUse use(stream);
    if (use.error() != hipSuccess) return use.error();
    if (use.capturing()) return hipErrorNotSupported;
    if (bytes == 0) {
      *pointer = nullptr;
      return hipSuccess;
    }
    return allocate({use.device(), bytes, hipMemoryTypeDevice, 0}, pointer);
  });
}

extern "C" hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  return enter([&] {
    if (pointer == nullptr) return hipSuccess;
    const std::optional<Allocation> a = find_allocation(pointer);
    if (!a || a->base != pointer || a->imported || a->type != hipMemoryTypeDevice) {
      return hipErrorInvalidValue;
    }
    StreamUse use(stream);
    if (use.error() != hipSuccess) return use.error();
    if (use.capturing()) return hipErrorNotSupported;
    Work work;
    work.kind = Work::Kind::kQuick;
    work.body = [pointer] { free_now(pointer); };
    return use.add(std::move(work), hipGraphNodeTypeMemFree);
  });
}

extern "C" hipError_t hipHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return enter([&] {
    if (pointer == nullptr || bytes == 0) return hipErrorInvalidValue;
    if (const hipError_t error = check_not_capturing(); error != hipSuccess) return error;
    char* first = static_cast<char*>(pointer);
    if (find_allocation(first) || find_allocation(first + bytes - 1)) {
      return hipErrorHostMemoryAlreadyRegistered;
    }
    Allocation a;
    a.base = first;
    a.bytes = bytes;
    a.type = hipMemoryTypeHost;
    a.device = current_device();
    a.flags = flags;
    insert_allocation(a);
    return hipSuccess;
  });
}

extern "C" hipError_t hipHostUnregister(void* pointer) {
  return enter([&] {
    if (pointer == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = check_not_capturing(); error != hipSuccess) return error;
    const std::optional<Allocation> a = find_allocation(pointer);
    if (!a || a->arena != nullptr || a->base != pointer) return hipErrorHostMemoryNotRegistered;
    if (const hipError_t error = wait_for_device(a->device); error != hipSuccess) return error;
    remove_allocation(pointer);
    return hipSuccess;
  });
}

extern "C" hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return enter([&] {
    if (free_bytes == nullptr || total_bytes == nullptr) return hipErrorInvalidValue;
    const Arena& arena = arena_of(*runtime().devices[static_cast<size_t>(current_device())]);
    const std::lock_guard guard(arena_lock);
    *total_bytes = arena.bytes();
    *free_bytes = arena.heap_bytes() - arena.used_bytes();
    return hipSuccess;
  });
}
