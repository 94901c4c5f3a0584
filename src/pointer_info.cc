// Asking the runtime about addresses (pointer_info.h).
#include "pointer_info.h"

#include <hip/hip_runtime.h>

namespace weft {
namespace {

// HIP 5 and HIP 6 name the field differently.
template <class Attributes>
auto memory_type(const Attributes& attributes) {
  if constexpr (requires { attributes.type; }) {
    return attributes.type;
  } else {
    return attributes.memoryType;
  }
}

}  // namespace

PointerInfo pointer_info(const void* pointer) noexcept {
  hipPointerAttribute_t attributes{};
  if (pointer == nullptr || hipPointerGetAttributes(&attributes, pointer) != hipSuccess) {
    (void)hipGetLastError();
    return {MemoryKind::kUnknown, -1};
  }
  if (attributes.devicePointer == nullptr) return {MemoryKind::kUnknown, -1};
  if (attributes.isManaged) return {MemoryKind::kManaged, attributes.device};
  const bool on_device = memory_type(attributes) == hipMemoryTypeDevice;
  return {on_device ? MemoryKind::kDevice : MemoryKind::kHost, attributes.device};
}

}  // namespace weft
