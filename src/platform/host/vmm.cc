// The virtual memory management calls, which this runtime does not have: each answers
// hipErrorNotSupported, as hipDeviceAttributeVirtualMemoryManagementSupported says.
#include "runtime.h"

namespace {
hipError_t not_here() {
  return weft::hiphost::enter([] { return hipErrorNotSupported; });
}
}  // namespace

extern "C" {
hipError_t hipMemGetAllocationGranularity(size_t*, const hipMemAllocationProp*,
                                          hipMemAllocationGranularity_flags) {
  return not_here();
}
hipError_t hipMemCreate(hipMemGenericAllocationHandle_t*, size_t, const hipMemAllocationProp*,
                        unsigned long long) {
  return not_here();
}
hipError_t hipMemRelease(hipMemGenericAllocationHandle_t) { return not_here(); }
hipError_t hipMemAddressReserve(void**, size_t, size_t, void*, unsigned long long) {
  return not_here();
}
hipError_t hipMemAddressFree(void*, size_t) { return not_here(); }
hipError_t hipMemMap(void*, size_t, size_t, hipMemGenericAllocationHandle_t, unsigned long long) {
  return not_here();
}
hipError_t hipMemUnmap(void*, size_t) { return not_here(); }
hipError_t hipMemSetAccess(void*, size_t, const hipMemAccessDesc*, size_t) { return not_here(); }
hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t*, void*) {
  return not_here();
}
hipError_t hipMemExportToShareableHandle(void*, hipMemGenericAllocationHandle_t,
                                         hipMemAllocationHandleType, unsigned long long) {
  return not_here();
}
hipError_t hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t*, void*,
                                           hipMemAllocationHandleType) {
  return not_here();
}
hipError_t hipMemGetHandleForAddressRange(void*, hipDeviceptr_t, size_t, int, unsigned long long) {
  return not_here();
}
}
