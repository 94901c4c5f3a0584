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

// Versions write 1, 4 or 8 bytes.
uint64_t attribute_of(hipPointer_attribute attribute, const void* pointer) {
  uint64_t value = 0;
  if (pointer != nullptr && hipPointerGetAttribute(&value, attribute,
                                                   reinterpret_cast<hipDeviceptr_t>(
                                                       const_cast<void*>(pointer))) == hipSuccess)
    return value;
  (void)hipGetLastError();
  return 0;
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

uint64_t buffer_id(const void* pointer) noexcept {
  return attribute_of(HIP_POINTER_ATTRIBUTE_BUFFER_ID, pointer);
}

Allocation allocation_of(const void* pointer) noexcept {
  const PointerInfo info = pointer_info(pointer);
  hipDeviceptr_t base{};
  size_t bytes = 0;
  if (info.kind != MemoryKind::kDevice ||
      hipMemGetAddressRange(&base, &bytes,
                            reinterpret_cast<hipDeviceptr_t>(const_cast<void*>(pointer))) !=
          hipSuccess) {
    (void)hipGetLastError();
    return {};
  }
  const bool plain = attribute_of(HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE, pointer) != 0;
  return {static_cast<char*>(base), bytes, info.device, plain};
}

}  // namespace weft
