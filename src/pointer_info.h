// What the runtime knows about an address that a program passed. Owns: the question, and the ways
// in which versions of HIP answer it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

enum class MemoryKind { kUnknown, kHost, kDevice, kManaged };

struct PointerInfo {
  MemoryKind kind;  // kUnknown: the program's own memory, or none at all
  int device;       // of kDevice
};

// Never fails, leaves no error in the runtime.
PointerInfo pointer_info(const void* pointer) noexcept;

// The number that the runtime gives an allocation, never twice in a process: memory that was freed
// and another one at its address differ. 0: the runtime tells none.
uint64_t buffer_id(const void* pointer) noexcept;

// The allocation around an address. Plain: made by hipMalloc, so that it may be exported whole and
// other devices of the process reach it; pools and virtual memory management are not.
struct Allocation {
  char* base = nullptr;
  size_t bytes = 0;
  int device = -1;
  bool plain = false;

  bool holds(const void* begin, size_t count) const {
    const size_t at = size_t(static_cast<const char*>(begin) - base);
    return at <= bytes && count <= bytes - at;
  }
};
// Not plain where the runtime does not say.
Allocation allocation_of(const void* pointer) noexcept;

}  // namespace weft
