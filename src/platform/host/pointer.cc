// Questions about pointers: attributes, ranges, what host memory looks like from a device (itself).
#include <cstring>
#include <mutex>

#include "arena.h"
#include "memory.h"
#include "runtime.h"

namespace weft::hiphost {
namespace {

template <class T>
hipError_t put(void* data, T value) {
  memcpy(data, &value, sizeof value);
  return hipSuccess;
}

bool on_host(const Allocation& a) { return a.type != hipMemoryTypeDevice; }

// Widths are those HIP writes: 4 bytes for the id, the type and the ordinal, a pointer or size_t
// for ranges.
hipError_t one_attribute(void* data, hipPointer_attribute attribute, void* p, const Allocation& a) {
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put<uint32_t>(data, a.type);
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(data, p);
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      put<void*>(data, on_host(a) ? p : nullptr);
      return on_host(a) ? hipSuccess : hipErrorInvalidValue;
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(data, false);
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(data, static_cast<uint32_t>(a.id));
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(data, a.type == hipMemoryTypeManaged);
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, a.device);
    case HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE:
      return put(data, a.type == hipMemoryTypeDevice && !a.imported);
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put<void*>(data, a.base);
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(data, a.bytes);
    case HIP_POINTER_ATTRIBUTE_MAPPED:
      return put(data, true);
    case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put<uint32_t>(data, a.flags);
    case HIP_POINTER_ATTRIBUTE_CONTEXT:
    case HIP_POINTER_ATTRIBUTE_P2P_TOKENS:
    case HIP_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return hipErrorNotSupported;
  }
  return hipErrorInvalidValue;
}

}  // namespace
}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipPointerGetAttributes(hipPointerAttribute_t* out, const void* pointer) {
  return enter([&] {
    if (out == nullptr || pointer == nullptr) return hipErrorInvalidValue;
    *out = {};
    void* p = const_cast<void*>(pointer);
    const auto a = find_allocation(pointer);
    if (!a) {  // as HIP 6: success, and the type says that it is the program's own memory
      out->type = hipMemoryTypeUnregistered;
      out->device = hipInvalidDeviceId;
      return hipSuccess;
    }
    out->type = a->type;
    out->device = a->device;
    out->devicePointer = p;
    out->hostPointer = on_host(*a) ? p : nullptr;
    out->isManaged = a->type == hipMemoryTypeManaged ? 1 : 0;
    out->allocationFlags = a->flags;
    return hipSuccess;
  });
}

extern "C" hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute attribute,
                                             hipDeviceptr_t pointer) {
  return enter([&] {
    if (data == nullptr || pointer == nullptr) return hipErrorInvalidValue;
    const auto a = find_allocation(pointer);
    if (!a) return hipErrorInvalidValue;
    return one_attribute(data, attribute, pointer, *a);
  });
}

extern "C" hipError_t hipPointerSetAttribute(const void* value, hipPointer_attribute attribute,
                                             hipDeviceptr_t pointer) {
  return enter([&] {
    if (value == nullptr || pointer == nullptr || !find_allocation(pointer)) {
      return hipErrorInvalidValue;
    }
    // Copies of this runtime are synchronous to the host when they return; nothing to set.
    return attribute == HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS ? hipSuccess : hipErrorInvalidValue;
  });
}

extern "C" hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes,
                                            hipDeviceptr_t pointer) {
  return enter([&] {
    if (pointer == nullptr) return hipErrorInvalidValue;
    const auto a = find_allocation(pointer);
    if (!a) return hipErrorNotFound;
    if (base != nullptr) *base = a->base;
    if (bytes != nullptr) *bytes = a->bytes;
    return hipSuccess;
  });
}

extern "C" hipError_t hipMemPtrGetInfo(void* pointer, size_t* bytes) {
  return enter([&] {
    if (bytes == nullptr) return hipErrorInvalidValue;
    const auto a = find_allocation(pointer);
    if (!a) return hipErrorInvalidValue;
    *bytes = a->bytes;
    return hipSuccess;
  });
}

extern "C" hipError_t hipHostGetDevicePointer(void** device_pointer, void* host_pointer,
                                              unsigned int flags) {
  return enter([&] {
    if (device_pointer == nullptr || host_pointer == nullptr || flags != 0) {
      return hipErrorInvalidValue;
    }
    const auto a = find_allocation(host_pointer);
    if (!a || !on_host(*a)) return hipErrorInvalidValue;
    *device_pointer = host_pointer;
    return hipSuccess;
  });
}

extern "C" hipError_t hipHostGetFlags(unsigned int* flags, void* pointer) {
  return enter([&] {
    if (flags == nullptr) return hipErrorInvalidValue;
    const auto a = find_allocation(pointer);
    if (!a || !on_host(*a)) return hipErrorInvalidValue;
    *flags = a->flags;
    return hipSuccess;
  });
}
