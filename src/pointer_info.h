// What the runtime knows about an address that a program passed. Owns: the question, and the ways
// in which versions of HIP answer it.
#pragma once

namespace weft {

enum class MemoryKind { kUnknown, kHost, kDevice, kManaged };

struct PointerInfo {
  MemoryKind kind;  // kUnknown: the program's own memory, or none at all
  int device;       // of kDevice
};

// Never fails, leaves no error in the runtime.
PointerInfo pointer_info(const void* pointer) noexcept;

}  // namespace weft
