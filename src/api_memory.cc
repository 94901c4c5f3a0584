// The C entry points of memory: allocation, registration, windows.
#include "api_guard.h"
#include "hip_check.h"

using namespace weft;

// Plain device memory: ranks reach each other's through the arena of the library, or directly once
// it is registered.
WEFT_API(ncclMemAlloc)
ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  return guard([&] {
    require_pointer("ncclMemAlloc", "ptr", ptr);
    void* memory = nullptr;
    if (size > 0) hip_check(hipMalloc(&memory, size), "ncclMemAlloc of {} bytes", size);
    *ptr = memory;
    return ncclSuccess;
  });
}

WEFT_API(ncclMemFree)
ncclResult_t ncclMemFree(void* ptr) {
  return guard([&] {
    hip_check(hipFree(ptr), "ncclMemFree of {}", ptr);
    return ncclSuccess;
  });
}
