// The device calls: which there are, which is current, what they look like.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "capture.h"
#include "launch.h"
#include "model.h"
#include "runtime.h"
#include "stream.h"

namespace weft::hiphost {
namespace {

constexpr int kVersion = HIP_VERSION;
constexpr int kMaxGrid = 0x7fffffff;
constexpr int kMaxGridYZ = 65535;
constexpr int kRegistersPerBlock = 65536;
constexpr int kThreadsPerUnit = 2048;
constexpr int kTimerKhz = 100000;
constexpr size_t kAlignment = 256;

int physical_of(int device) { return runtime().devices[static_cast<size_t>(device)]->physical; }

void fill_limits(hipDeviceProp_t& p) {
  const int block = static_cast<int>(kMaxBlockThreads);
  p.sharedMemPerBlock = p.sharedMemPerBlockOptin = kMaxSharedBytes;
  p.sharedMemPerMultiprocessor = p.maxSharedMemoryPerMultiProcessor = kMaxSharedBytes;
  p.regsPerBlock = p.regsPerMultiprocessor = kRegistersPerBlock;
  p.maxThreadsPerBlock = block;
  for (int& dim : p.maxThreadsDim) dim = block;
  p.maxGridSize[0] = kMaxGrid;
  p.maxGridSize[1] = p.maxGridSize[2] = kMaxGridYZ;
  p.maxThreadsPerMultiProcessor = kThreadsPerUnit;
  p.maxBlocksPerMultiProcessor = kThreadsPerUnit / block;
  p.memPitch = kMaxGrid;
  p.textureAlignment = p.texturePitchAlignment = p.surfaceAlignment = kAlignment;
  p.totalConstMem = kMaxGrid;
}

void fill_features(hipDeviceProp_t& p) {
  p.concurrentKernels = p.canMapHostMemory = p.unifiedAddressing = 1;
  p.asyncEngineCount = 2;
  p.streamPrioritiesSupported = p.managedMemory = p.concurrentManagedAccess = 1;
  p.directManagedMemAccessFromHost = p.pageableMemoryAccess = 1;
  p.pageableMemoryAccessUsesHostPageTables = p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = p.hostRegisterSupported = p.ipcEventSupported = 1;
  p.hostNativeAtomicSupported = p.isLargeBar = p.ECCEnabled = 1;
  p.arch.hasGlobalInt32Atomics = p.arch.hasSharedInt32Atomics = 1;
  p.arch.hasGlobalInt64Atomics = p.arch.hasSharedInt64Atomics = 1;
  p.arch.hasFloatAtomicAdd = p.arch.hasDoubles = p.arch.has3dGrid = 1;
  p.arch.hasThreadFenceSystem = 1;
}

hipDeviceProp_t properties(int device) {
  hipDeviceProp_t p;
  memset(static_cast<void*>(&p), 0, sizeof p);
  const Model& m = model();
  snprintf(p.name, sizeof p.name, "%s", m.name);
  snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", m.full);
  p.uuid = uuid_of(physical_of(device));
  p.totalGlobalMem = runtime().config.memory_bytes;
  p.warpSize = m.wave;
  p.major = m.major;
  p.minor = m.minor;
  p.multiProcessorCount = m.units;
  p.clockRate = m.clock_khz;
  p.memoryClockRate = m.memory_clock_khz;
  p.memoryBusWidth = m.memory_bus_bits;
  p.l2CacheSize = m.l2_bytes;
  p.clockInstructionRate = kTimerKhz;
  p.pciBusID = bus_of(physical_of(device));
  p.pciDeviceID = kPciDevice;
  p.pciDomainID = kPciDomain;
  fill_limits(p);
  fill_features(p);
  return p;
}

hipError_t identity_attribute(int* value, hipDeviceAttribute_t a, const hipDeviceProp_t& p) {
  switch (a) {
    case hipDeviceAttributePciBusId:
      *value = p.pciBusID;
      break;
    case hipDeviceAttributePciDeviceId:
      *value = p.pciDeviceID;
      break;
    case hipDeviceAttributePciDomainID:
      *value = p.pciDomainID;
      break;
    case hipDeviceAttributeComputeCapabilityMajor:
      *value = p.major;
      break;
    case hipDeviceAttributeComputeCapabilityMinor:
      *value = p.minor;
      break;
    case hipDeviceAttributeMultiprocessorCount:
    case hipDeviceAttributePhysicalMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case hipDeviceAttributeWarpSize:
      *value = p.warpSize;
      break;
    case hipDeviceAttributeClockRate:
      *value = p.clockRate;
      break;
    case hipDeviceAttributeWallClockRate:
    case hipDeviceAttributeClockInstructionRate:
      *value = p.clockInstructionRate;
      break;
    case hipDeviceAttributeMemoryClockRate:
      *value = p.memoryClockRate;
      break;
    case hipDeviceAttributeMemoryBusWidth:
      *value = p.memoryBusWidth;
      break;
    case hipDeviceAttributeL2CacheSize:
      *value = p.l2CacheSize;
      break;
    case hipDeviceAttributeTotalGlobalMem:
      *value = static_cast<int>(std::min<size_t>(p.totalGlobalMem, kMaxGrid));
      break;
    case hipDeviceAttributeAsicRevision:
      *value = p.asicRevision;
      break;
    default:
      return hipErrorInvalidValue;
  }
  return hipSuccess;
}

hipError_t limit_attribute(int* value, hipDeviceAttribute_t a, const hipDeviceProp_t& p) {
  switch (a) {
    case hipDeviceAttributeMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
      *value = p.maxThreadsDim[0];
      break;
    case hipDeviceAttributeMaxGridDimX:
      *value = p.maxGridSize[0];
      break;
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ:
      *value = p.maxGridSize[1];
      break;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case hipDeviceAttributeMaxBlocksPerMultiProcessor:
      *value = p.maxBlocksPerMultiProcessor;
      break;
    case hipDeviceAttributeMaxRegistersPerBlock:
    case hipDeviceAttributeMaxRegistersPerMultiprocessor:
      *value = p.regsPerBlock;
      break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeSharedMemPerBlockOptin:
    case hipDeviceAttributeSharedMemPerMultiprocessor:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    default:
      return hipErrorInvalidValue;
  }
  return hipSuccess;
}

hipError_t feature_attribute(int* value, hipDeviceAttribute_t a) {
  switch (a) {
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeCanMapHostMemory:
    case hipDeviceAttributeUnifiedAddressing:
    case hipDeviceAttributeStreamPrioritiesSupported:
    case hipDeviceAttributeManagedMemory:
    case hipDeviceAttributeConcurrentManagedAccess:
    case hipDeviceAttributeDirectManagedMemAccessFromHost:
    case hipDeviceAttributePageableMemoryAccess:
    case hipDeviceAttributePageableMemoryAccessUsesHostPageTables:
    case hipDeviceAttributeCanUseHostPointerForRegisteredMem:
    case hipDeviceAttributeCooperativeLaunch:
    case hipDeviceAttributeHostRegisterSupported:
    case hipDeviceAttributeHostNativeAtomicSupported:
    case hipDeviceAttributeIsLargeBar:
    case hipDeviceAttributeEccEnabled:
    case hipDeviceAttributeCanUseStreamWaitValue:
    case hipDeviceAttributeFineGrainSupport:
      *value = 1;
      break;
    case hipDeviceAttributeAsyncEngineCount:
      *value = 2;
      break;
    case hipDeviceAttributeIntegrated:
    case hipDeviceAttributeKernelExecTimeout:
    case hipDeviceAttributeComputeMode:
    case hipDeviceAttributeIsMultiGpuBoard:
    case hipDeviceAttributeTccDriver:
    case hipDeviceAttributeImageSupport:
    case hipDeviceAttributeCooperativeMultiDeviceLaunch:
    case hipDeviceAttributeMemoryPoolsSupported:
    case hipDeviceAttributeMemoryPoolSupportedHandleTypes:
    case hipDeviceAttributeVirtualMemoryManagementSupported:
      *value = 0;
      break;
    default:
      return hipErrorInvalidValue;
  }
  return hipSuccess;
}

hipError_t attribute(int* value, hipDeviceAttribute_t a, int device) {
  if (value == nullptr) return hipErrorInvalidValue;
  if (const hipError_t error = check_device(device); error != hipSuccess) return error;
  const hipDeviceProp_t p = properties(device);
  if (identity_attribute(value, a, p) == hipSuccess) return hipSuccess;
  if (limit_attribute(value, a, p) == hipSuccess) return hipSuccess;
  return feature_attribute(value, a);
}

// Runs `body` for a device and a place for the answer that were checked.
template <class T, class Body>
hipError_t about(T* out, int device, Body&& body) {
  return enter_without_device([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = check_device(device); error != hipSuccess) return error;
    body();
    return hipSuccess;
  });
}

// "0000:05:00.0" or "05:00.0"; the number of fields read decides.
bool parse_bus(const char* text, int& domain, int& bus, int& slot) {
  unsigned d = 0, b = 0, s = 0, f = 0;
  if (sscanf(text, "%x:%x:%x.%x", &d, &b, &s, &f) < 3) {
    d = 0;
    if (sscanf(text, "%x:%x.%x", &b, &s, &f) < 2) return false;
  }
  domain = static_cast<int>(d);
  bus = static_cast<int>(b);
  slot = static_cast<int>(s);
  return true;
}

hipCtx_t context_of(int device) {
  return reinterpret_cast<hipCtx_t>(runtime().devices[static_cast<size_t>(device)].get());
}

}  // namespace
}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" {

hipError_t hipInit(unsigned int flags) {
  return enter([&] { return flags == 0 ? hipSuccess : hipErrorInvalidValue; });
}
hipError_t hipRuntimeGetVersion(int* version) {
  return about(version, 0, [&] { *version = kVersion; });
}
hipError_t hipDriverGetVersion(int* version) {
  return about(version, 0, [&] { *version = kVersion; });
}

hipError_t hipGetDeviceCount(int* count) {
  if (count != nullptr) *count = 0;
  return about(count, 0, [&] { *count = device_count(); });
}
hipError_t hipGetDevice(int* device) {
  return about(device, 0, [&] { *device = current_device(); });
}
hipError_t hipSetDevice(int device) {
  return about(&device, device, [&] { set_current_device(device); });
}
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return about(device, ordinal, [&] { *device = ordinal; });
}
hipError_t hipSetDeviceFlags(unsigned flags) {
  return enter([&] {
    constexpr unsigned kKnown = hipDeviceScheduleMask | hipDeviceMapHost;
    return (flags & ~kKnown) == 0 ? hipSuccess : hipErrorInvalidValue;
  });
}
hipError_t hipGetDeviceFlags(unsigned* flags) {
  return about(flags, 0, [&] { *flags = hipDeviceScheduleAuto; });
}

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  if (length <= 0) return keep_error(hipErrorInvalidValue);
  return about(name, device,
               [&] { snprintf(name, static_cast<size_t>(length), "%s", model().name); });
}
hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  return about(uuid, device, [&] { *uuid = uuid_of(physical_of(device)); });
}
hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  return about(bytes, device, [&] { *bytes = runtime().config.memory_bytes; });
}
hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  if (minor == nullptr) return keep_error(hipErrorInvalidValue);
  return about(major, device, [&] {
    *major = model().major;
    *minor = model().minor;
  });
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t a, int device) {
  return enter([&] { return attribute(value, a, device); });
}
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t* out, int device) {
  return about(out, device, [&] { *out = properties(device); });
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t* out, int device) {
  return hipGetDevicePropertiesR0600(out, device);
}

hipError_t hipDeviceGetPCIBusId(char* text, int length, int device) {
  if (length <= 0) return keep_error(hipErrorInvalidValue);
  return about(text, device, [&] {
    snprintf(text, static_cast<size_t>(length), "%04x:%02x:%02x.0", kPciDomain,
             bus_of(physical_of(device)), kPciDevice);
  });
}
hipError_t hipDeviceGetByPCIBusId(int* device, const char* text) {
  return enter([&] {
    if (device == nullptr || text == nullptr) return hipErrorInvalidValue;
    int domain = 0, bus = 0, slot = 0;
    if (!parse_bus(text, domain, bus, slot)) return hipErrorInvalidValue;
    for (int i = 0; i < device_count(); ++i) {
      if (domain == kPciDomain && bus == bus_of(physical_of(i)) && slot == kPciDevice) {
        *device = i;
        return hipSuccess;
      }
    }
    return hipErrorInvalidValue;
  });
}

hipError_t hipDeviceGetLimit(size_t* value, enum hipLimit_t limit) {
  return enter([&] {
    if (value == nullptr) return hipErrorInvalidValue;
    if (limit != hipLimitStackSize) return hipErrorUnsupportedLimit;
    *value = runtime().config.stack_bytes;
    return hipSuccess;
  });
}
hipError_t hipDeviceSetLimit(enum hipLimit_t limit, size_t value) {
  return enter([&] {
    if (limit != hipLimitStackSize) return hipErrorUnsupportedLimit;
    return value <= runtime().config.stack_bytes ? hipSuccess : hipErrorInvalidValue;
  });
}
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t) {
  return enter([] { return hipSuccess; });
}

// The device's memory stays: this runtime cannot know which of it another thread still uses.
hipError_t hipDeviceReset(void) {
  return enter([] {
    if (const hipError_t error = check_nothing_captured(); error != hipSuccess) return error;
    return wait_for_device(current_device());
  });
}

hipError_t hipCtxGetCurrent(hipCtx_t* context) {
  return about(context, 0, [&] { *context = context_of(current_device()); });
}
hipError_t hipCtxSetCurrent(hipCtx_t context) {
  return enter([&] {
    for (int i = 0; i < device_count(); ++i) {
      if (context_of(i) != context) continue;
      set_current_device(i);
      return hipSuccess;
    }
    return hipErrorInvalidContext;
  });
}
hipError_t hipCtxGetDevice(hipDevice_t* device) { return hipGetDevice(device); }
hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  return about(context, device, [&] { *context = context_of(device); });
}
hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  return about(&device, device, [] {});
}
hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned* flags, int* active) {
  if (flags == nullptr) return keep_error(hipErrorInvalidValue);
  return about(active, device, [&] {
    *flags = 0;
    *active = 1;
  });
}

}  // extern "C"
