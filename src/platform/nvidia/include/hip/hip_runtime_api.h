/* HIP's names over the CUDA 13 runtime, for C and C++: what this project and programs written for
 * its library use, no more. Owns: types, constants and one-line functions; where the two runtimes
 * differ the function says how. Handles are CUDA's own, so a program may mix both. Does not own:
 * device code (device_platform.h). */
#ifndef WEFT_NVIDIA_HIP_RUNTIME_API_H_
#define WEFT_NVIDIA_HIP_RUNTIME_API_H_

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#define __HIP_PLATFORM_NVIDIA__ 1

/* ---- Types ---- */

typedef enum cudaError hipError_t;
typedef enum cudaMemcpyKind hipMemcpyKind;
typedef enum cudaStreamCaptureMode hipStreamCaptureMode;
typedef enum cudaStreamCaptureStatus hipStreamCaptureStatus;
typedef enum cudaMemoryType hipMemoryType;
typedef enum cudaDeviceAttr hipDeviceAttribute_t;
typedef enum cudaFuncAttribute hipFuncAttribute;
typedef cudaStream_t hipStream_t;
typedef cudaEvent_t hipEvent_t;
typedef cudaGraph_t hipGraph_t;
typedef cudaGraphNode_t hipGraphNode_t;
typedef cudaGraphExec_t hipGraphExec_t;
typedef cudaUserObject_t hipUserObject_t;
typedef cudaHostFn_t hipHostFn_t;
typedef cudaIpcMemHandle_t hipIpcMemHandle_t;
typedef cudaIpcEventHandle_t hipIpcEventHandle_t;
typedef struct cudaFuncAttributes hipFuncAttributes;
typedef int hipDevice_t;
typedef void* hipDeviceptr_t;
typedef struct hipUUID_t {
  char bytes[16];
} hipUUID;

/* A memory's kind has CUDA's name and HIP's place. */
typedef struct hipPointerAttribute_t {
  hipMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
} hipPointerAttribute_t;

/* gcnArchName is CUDA's name of the architecture, "sm_90". */
typedef struct hipDeviceProp_t {
  char name[256];
  hipUUID uuid;
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int major, minor;
  int multiProcessorCount;
  int pciBusID, pciDeviceID, pciDomainID;
  char gcnArchName[256];
} hipDeviceProp_t;

/* ---- Constants ---- */

#define hipSuccess cudaSuccess
#define hipErrorInvalidValue cudaErrorInvalidValue
#define hipErrorOutOfMemory cudaErrorMemoryAllocation
#define hipErrorNotInitialized cudaErrorInitializationError
#define hipErrorDeinitialized cudaErrorCudartUnloading
#define hipErrorInsufficientDriver cudaErrorInsufficientDriver
#define hipErrorNoDevice cudaErrorNoDevice
#define hipErrorInvalidDevice cudaErrorInvalidDevice
#define hipErrorInvalidDevicePointer cudaErrorInvalidDevicePointer
#define hipErrorInvalidDeviceFunction cudaErrorInvalidDeviceFunction
#define hipErrorInvalidConfiguration cudaErrorInvalidConfiguration
#define hipErrorInvalidHandle cudaErrorInvalidResourceHandle
#define hipErrorInvalidContext cudaErrorDeviceUninitialized
#define hipErrorContextIsDestroyed cudaErrorContextIsDestroyed
#define hipErrorNoBinaryForGpu cudaErrorNoKernelImageForDevice
#define hipErrorNotReady cudaErrorNotReady
#define hipErrorNotSupported cudaErrorNotSupported
#define hipErrorPeerAccessAlreadyEnabled cudaErrorPeerAccessAlreadyEnabled
#define hipErrorPeerAccessNotEnabled cudaErrorPeerAccessNotEnabled
#define hipErrorPeerAccessUnsupported cudaErrorPeerAccessUnsupported
#define hipErrorMapFailed cudaErrorMapBufferObjectFailed
#define hipErrorHostMemoryAlreadyRegistered cudaErrorHostMemoryAlreadyRegistered
#define hipErrorHostMemoryNotRegistered cudaErrorHostMemoryNotRegistered
#define hipErrorIllegalAddress cudaErrorIllegalAddress
#define hipErrorLaunchFailure cudaErrorLaunchFailure
#define hipErrorLaunchOutOfResources cudaErrorLaunchOutOfResources
#define hipErrorStreamCaptureUnsupported cudaErrorStreamCaptureUnsupported
#define hipErrorStreamCaptureInvalidated cudaErrorStreamCaptureInvalidated
#define hipErrorStreamCaptureIsolation cudaErrorStreamCaptureIsolation
#define hipErrorUnknown cudaErrorUnknown

#define hipMemcpyHostToHost cudaMemcpyHostToHost
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipMemcpyDeviceToDevice cudaMemcpyDeviceToDevice
#define hipMemcpyDefault cudaMemcpyDefault

#define hipMemoryTypeUnregistered cudaMemoryTypeUnregistered
#define hipMemoryTypeHost cudaMemoryTypeHost
#define hipMemoryTypeDevice cudaMemoryTypeDevice
#define hipMemoryTypeManaged cudaMemoryTypeManaged

#define hipStreamDefault cudaStreamDefault
#define hipStreamNonBlocking cudaStreamNonBlocking
#define hipStreamPerThread cudaStreamPerThread
#define hipStreamLegacy cudaStreamLegacy
#define hipStreamCaptureModeGlobal cudaStreamCaptureModeGlobal
#define hipStreamCaptureModeThreadLocal cudaStreamCaptureModeThreadLocal
#define hipStreamCaptureModeRelaxed cudaStreamCaptureModeRelaxed
#define hipStreamCaptureStatusNone cudaStreamCaptureStatusNone
#define hipStreamCaptureStatusActive cudaStreamCaptureStatusActive
#define hipStreamCaptureStatusInvalidated cudaStreamCaptureStatusInvalidated

#define hipEventDefault cudaEventDefault
#define hipEventBlockingSync cudaEventBlockingSync
#define hipEventDisableTiming cudaEventDisableTiming
#define hipEventInterprocess cudaEventInterprocess
#define hipEventRecordDefault cudaEventRecordDefault
#define hipEventRecordExternal cudaEventRecordExternal
#define hipEventWaitDefault cudaEventWaitDefault
#define hipEventWaitExternal cudaEventWaitExternal

#define hipHostMallocDefault cudaHostAllocDefault
#define hipHostMallocPortable cudaHostAllocPortable
#define hipHostMallocMapped cudaHostAllocMapped
#define hipHostMallocCoherent 0u /* host memory always is */
#define hipHostRegisterDefault cudaHostRegisterDefault
#define hipHostRegisterPortable cudaHostRegisterPortable
#define hipHostRegisterMapped cudaHostRegisterMapped
#define hipIpcMemLazyEnablePeerAccess cudaIpcMemLazyEnablePeerAccess

/* Kinds of device memory that CUDA does not tell apart: peers may poll any of it. */
#define hipDeviceMallocDefault 0x0u
#define hipDeviceMallocFinegrained 0x1u
#define hipDeviceMallocUncached 0x3u

#define hipStreamAddCaptureDependencies cudaStreamAddCaptureDependencies
#define hipStreamSetCaptureDependencies cudaStreamSetCaptureDependencies
#define hipUserObjectNoDestructorSync cudaUserObjectNoDestructorSync
#define hipGraphUserObjectMove cudaGraphUserObjectMove
#define hipFuncAttributeMaxDynamicSharedMemorySize cudaFuncAttributeMaxDynamicSharedMemorySize

#define hipDeviceAttributeMultiprocessorCount cudaDevAttrMultiProcessorCount
#define hipDeviceAttributeWarpSize cudaDevAttrWarpSize
#define hipDeviceAttributePciBusId cudaDevAttrPciBusId
#define hipDeviceAttributePciDeviceId cudaDevAttrPciDeviceId
#define hipDeviceAttributePciDomainID cudaDevAttrPciDomainId
#define hipDeviceAttributeCooperativeLaunch cudaDevAttrCooperativeLaunch

/* ---- Functions of the same shape ---- */

#define WEFT_HIP_NAME(name, parameters, arguments) \
  static inline hipError_t hip##name parameters { return cuda##name arguments; }

WEFT_HIP_NAME(RuntimeGetVersion, (int* version), (version))
WEFT_HIP_NAME(DriverGetVersion, (int* version), (version))
WEFT_HIP_NAME(GetLastError, (void), ())
WEFT_HIP_NAME(PeekAtLastError, (void), ())
WEFT_HIP_NAME(GetDeviceCount, (int* count), (count))
WEFT_HIP_NAME(GetDevice, (int* device), (device))
WEFT_HIP_NAME(SetDevice, (int device), (device))
WEFT_HIP_NAME(DeviceSynchronize, (void), ())
WEFT_HIP_NAME(DeviceReset, (void), ())
WEFT_HIP_NAME(DeviceGetAttribute, (int* value, hipDeviceAttribute_t attribute, int device),
              (value, attribute, device))
WEFT_HIP_NAME(DeviceGetPCIBusId, (char* text, int bytes, int device), (text, bytes, device))
WEFT_HIP_NAME(DeviceGetByPCIBusId, (int* device, const char* text), (device, text))
WEFT_HIP_NAME(DeviceGetStreamPriorityRange, (int* least, int* greatest), (least, greatest))
WEFT_HIP_NAME(DeviceCanAccessPeer, (int* can, int device, int peer), (can, device, peer))
WEFT_HIP_NAME(DeviceEnablePeerAccess, (int peer, unsigned flags), (peer, flags))
WEFT_HIP_NAME(DeviceDisablePeerAccess, (int peer), (peer))

WEFT_HIP_NAME(Free, (void* p), (p))
WEFT_HIP_NAME(MemGetInfo, (size_t * available, size_t* total), (available, total))
WEFT_HIP_NAME(HostRegister, (void* p, size_t bytes, unsigned flags), (p, bytes, flags))
WEFT_HIP_NAME(HostUnregister, (void* p), (p))
WEFT_HIP_NAME(HostGetDevicePointer, (void** device, void* host, unsigned flags),
              (device, host, flags))
WEFT_HIP_NAME(Memset, (void* p, int value, size_t bytes), (p, value, bytes))
WEFT_HIP_NAME(MemsetAsync, (void* p, int value, size_t bytes, hipStream_t stream),
              (p, value, bytes, stream))
WEFT_HIP_NAME(Memcpy, (void* to, const void* from, size_t bytes, hipMemcpyKind kind),
              (to, from, bytes, kind))
WEFT_HIP_NAME(MemcpyAsync,
              (void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream),
              (to, from, bytes, kind, stream))
WEFT_HIP_NAME(MemcpyPeerAsync,
              (void* to, int to_device, const void* from, int from_device, size_t bytes,
               hipStream_t stream),
              (to, to_device, from, from_device, bytes, stream))
WEFT_HIP_NAME(IpcGetMemHandle, (hipIpcMemHandle_t * handle, void* p), (handle, p))
WEFT_HIP_NAME(IpcOpenMemHandle, (void** p, hipIpcMemHandle_t handle, unsigned flags),
              (p, handle, flags))
WEFT_HIP_NAME(IpcCloseMemHandle, (void* p), (p))
WEFT_HIP_NAME(IpcGetEventHandle, (hipIpcEventHandle_t * handle, hipEvent_t event), (handle, event))
WEFT_HIP_NAME(IpcOpenEventHandle, (hipEvent_t * event, hipIpcEventHandle_t handle), (event, handle))

WEFT_HIP_NAME(StreamCreate, (hipStream_t * stream), (stream))
WEFT_HIP_NAME(StreamCreateWithFlags, (hipStream_t * stream, unsigned flags), (stream, flags))
WEFT_HIP_NAME(StreamCreateWithPriority, (hipStream_t * stream, unsigned flags, int priority),
              (stream, flags, priority))
WEFT_HIP_NAME(StreamDestroy, (hipStream_t stream), (stream))
WEFT_HIP_NAME(StreamSynchronize, (hipStream_t stream), (stream))
WEFT_HIP_NAME(StreamQuery, (hipStream_t stream), (stream))
WEFT_HIP_NAME(StreamGetId, (hipStream_t stream, unsigned long long* id), (stream, id))
WEFT_HIP_NAME(StreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned flags),
              (stream, event, flags))
WEFT_HIP_NAME(LaunchHostFunc, (hipStream_t stream, hipHostFn_t function, void* user),
              (stream, function, user))
WEFT_HIP_NAME(EventCreate, (hipEvent_t * event), (event))
WEFT_HIP_NAME(EventCreateWithFlags, (hipEvent_t * event, unsigned flags), (event, flags))
WEFT_HIP_NAME(EventDestroy, (hipEvent_t event), (event))
WEFT_HIP_NAME(EventRecord, (hipEvent_t event, hipStream_t stream), (event, stream))
WEFT_HIP_NAME(EventRecordWithFlags, (hipEvent_t event, hipStream_t stream, unsigned flags),
              (event, stream, flags))
WEFT_HIP_NAME(EventQuery, (hipEvent_t event), (event))
WEFT_HIP_NAME(EventSynchronize, (hipEvent_t event), (event))
WEFT_HIP_NAME(EventElapsedTime, (float* ms, hipEvent_t start, hipEvent_t end), (ms, start, end))

WEFT_HIP_NAME(ThreadExchangeStreamCaptureMode, (hipStreamCaptureMode * mode), (mode))
WEFT_HIP_NAME(StreamBeginCapture, (hipStream_t stream, hipStreamCaptureMode mode), (stream, mode))
WEFT_HIP_NAME(StreamEndCapture, (hipStream_t stream, hipGraph_t* graph), (stream, graph))
WEFT_HIP_NAME(StreamIsCapturing, (hipStream_t stream, hipStreamCaptureStatus* status),
              (stream, status))
WEFT_HIP_NAME(GraphLaunch, (hipGraphExec_t exec, hipStream_t stream), (exec, stream))
WEFT_HIP_NAME(GraphDestroy, (hipGraph_t graph), (graph))
WEFT_HIP_NAME(GraphExecDestroy, (hipGraphExec_t exec), (exec))
WEFT_HIP_NAME(UserObjectCreate,
              (hipUserObject_t * object, void* user, hipHostFn_t destroy, unsigned references,
               unsigned flags),
              (object, user, destroy, references, flags))
WEFT_HIP_NAME(UserObjectRelease, (hipUserObject_t object, unsigned count), (object, count))
WEFT_HIP_NAME(GraphRetainUserObject,
              (hipGraph_t graph, hipUserObject_t object, unsigned count, unsigned flags),
              (graph, object, count, flags))

WEFT_HIP_NAME(GraphAddEventRecordNode,
              (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* dependencies,
               size_t count, hipEvent_t event),
              (node, graph, dependencies, count, event))
WEFT_HIP_NAME(GraphAddEventWaitNode,
              (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* dependencies,
               size_t count, hipEvent_t event),
              (node, graph, dependencies, count, event))

WEFT_HIP_NAME(FuncGetAttributes, (hipFuncAttributes * attributes, const void* function),
              (attributes, function))
WEFT_HIP_NAME(FuncSetAttribute, (const void* function, hipFuncAttribute attribute, int value),
              (function, attribute, value))
WEFT_HIP_NAME(LaunchKernel,
              (const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
               hipStream_t stream),
              (function, grid, block, arguments, shared_bytes, stream))
#undef WEFT_HIP_NAME

static inline const char* hipGetErrorString(hipError_t code) { return cudaGetErrorString(code); }
static inline const char* hipGetErrorName(hipError_t code) { return cudaGetErrorName(code); }

/* ---- Functions that differ ---- */

static inline hipError_t hipMalloc(void** p, size_t bytes) { return cudaMalloc(p, bytes); }
/* A kind of memory that AMD has and CUDA does not is refused, not silently something else. */
static inline hipError_t hipExtMallocWithFlags(void** p, size_t bytes, unsigned flags) {
  return flags == hipDeviceMallocDefault || flags == hipDeviceMallocFinegrained ||
                 flags == hipDeviceMallocUncached
             ? cudaMalloc(p, bytes)
             : cudaErrorInvalidValue;
}
static inline hipError_t hipHostMalloc(void** p, size_t bytes, unsigned flags) {
  return cudaHostAlloc(p, bytes, flags);
}
static inline hipError_t hipHostFree(void* p) { return cudaFreeHost(p); }

/* Both succeed for memory they do not know, and call it unregistered. */
static inline hipError_t hipPointerGetAttributes(hipPointerAttribute_t* out, const void* p) {
  struct cudaPointerAttributes known;
  const cudaError_t code = cudaPointerGetAttributes(&known, p);
  if (code != cudaSuccess) return code;
  out->type = known.type;
  out->device = known.device;
  out->devicePointer = known.devicePointer;
  out->hostPointer = known.hostPointer;
  out->isManaged = known.type == cudaMemoryTypeManaged;
  out->allocationFlags = 0;
  return cudaSuccess;
}

/* The runtime has no such calls; the driver's functions are asked for through it. */
static inline hipError_t weft_hip_driver_function(const char* name, void** function) {
  enum cudaDriverEntryPointQueryResult found;
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, function, 12000, cudaEnableDefault, &found);
  if (code != cudaSuccess) return code;
  return found == cudaDriverEntryPointSuccess ? cudaSuccess : cudaErrorNotSupported;
}
static inline hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes,
                                               hipDeviceptr_t p) {
  typedef int (*Function)(unsigned long long*, size_t*, unsigned long long);
  static void* function = NULL; /* the same whoever asks first */
  unsigned long long start = 0;
  const cudaError_t code =
      function != NULL ? cudaSuccess : weft_hip_driver_function("cuMemGetAddressRange", &function);
  if (code != cudaSuccess) return code;
  if (((Function)function)(&start, bytes, (unsigned long long)(size_t)p) != 0)
    return cudaErrorInvalidValue;
  *base = (hipDeviceptr_t)(size_t)start;
  return cudaSuccess;
}

/* Those that the library asks for, by the driver's numbers. */
typedef enum hipPointer_attribute {
  HIP_POINTER_ATTRIBUTE_BUFFER_ID = 7,
  HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE = 10
} hipPointer_attribute;
static inline hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute attribute,
                                                hipDeviceptr_t p) {
  typedef int (*Function)(void*, int, unsigned long long);
  static void* function = NULL;
  const cudaError_t code =
      function != NULL ? cudaSuccess : weft_hip_driver_function("cuPointerGetAttribute", &function);
  if (code != cudaSuccess) return code;
  return ((Function)function)(data, attribute, (unsigned long long)(size_t)p) == 0
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

static inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* out, int device) {
  struct cudaDeviceProp from;
  const cudaError_t code = cudaGetDeviceProperties(&from, device);
  if (code != cudaSuccess) return code;
  memset(out, 0, sizeof *out);
  memcpy(out->name, from.name, sizeof out->name);
  memcpy(out->uuid.bytes, from.uuid.bytes, sizeof out->uuid.bytes);
  out->totalGlobalMem = from.totalGlobalMem;
  out->sharedMemPerBlock = from.sharedMemPerBlock;
  out->warpSize = from.warpSize;
  out->maxThreadsPerBlock = from.maxThreadsPerBlock;
  out->major = from.major;
  out->minor = from.minor;
  out->multiProcessorCount = from.multiProcessorCount;
  out->pciBusID = from.pciBusID;
  out->pciDeviceID = from.pciDeviceID;
  out->pciDomainID = from.pciDomainID;
  (void)snprintf(out->gcnArchName, sizeof out->gcnArchName, "sm_%d%d", from.major, from.minor);
  return cudaSuccess;
}
static inline hipError_t hipDeviceGetUuid(hipUUID* out, hipDevice_t device) {
  hipDeviceProp_t properties;
  const hipError_t code = hipGetDeviceProperties(&properties, device);
  if (code == cudaSuccess) *out = properties.uuid;
  return code;
}

static inline hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph,
                                                      unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}
/* CUDA has no text to say why it failed. */
static inline hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph,
                                             hipGraphNode_t* failed, char* text, size_t bytes) {
  if (failed) *failed = 0;
  if (text && bytes) *text = 0;
  return cudaGraphInstantiate(exec, graph, 0);
}
static inline hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                                 unsigned long long* id) {
  return cudaStreamGetCaptureInfo(stream, status, id, 0, 0, 0, 0);
}
static inline hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream,
                                                    hipStreamCaptureStatus* status,
                                                    unsigned long long* id, hipGraph_t* graph,
                                                    const hipGraphNode_t** tail,
                                                    size_t* tail_count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, tail, 0, tail_count);
}
static inline hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream,
                                                            hipGraphNode_t* nodes, size_t count,
                                                            unsigned flags) {
  return cudaStreamUpdateCaptureDependencies(stream, nodes, 0, count, flags);
}
static inline hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                                 const hipGraphNode_t* to, size_t count) {
  return cudaGraphAddDependencies(graph, from, to, 0, count);
}
static inline hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                                    const hipGraphNode_t* to, size_t count) {
  return cudaGraphRemoveDependencies(graph, from, to, 0, count);
}

#ifdef __cplusplus
template <class T>
inline hipError_t hipMalloc(T** p, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(p), bytes);
}
template <class T>
inline hipError_t hipExtMallocWithFlags(T** p, size_t bytes, unsigned flags) {
  return hipExtMallocWithFlags(reinterpret_cast<void**>(p), bytes, flags);
}
template <class T>
inline hipError_t hipHostMalloc(T** p, size_t bytes, unsigned flags = hipHostMallocDefault) {
  return cudaHostAlloc(reinterpret_cast<void**>(p), bytes, flags);
}
inline hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph) {
  return cudaGraphInstantiate(exec, graph, 0);
}
template <class Function>
inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function,
                                                               int threads, size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, reinterpret_cast<const void*>(function), threads, shared_bytes);
}
#endif

#endif
