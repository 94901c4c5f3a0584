// The process-wide state behind the API: configuration, devices, arenas. Made at the first HIP call
// and never destroyed (kernels may run while static objects go). Every API function goes through
// enter(), which also keeps the thread's last error.
#pragma once

#include <hip/hip_host.h>
#include <hip/hip_runtime_api.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "config.h"
#include "sync.h"

struct ihipStream_t;

namespace weft::hiphost {

class Arena;

struct Device {
  int index = 0;           // as the program counts
  int physical = 0;        // before HIP_VISIBLE_DEVICES
  Arena* arena = nullptr;  // under Runtime::lock; arena_of makes it
  uint64_t peers = 0;      // bit per index: peer access enabled; under Runtime::lock
};

struct Runtime {
  Config config;
  std::vector<std::unique_ptr<Device>> devices;
  Arena* host_arena = nullptr;
  Lock lock;
};

// Valid after ready() returned hipSuccess.
Runtime& runtime();
// Starts the runtime at the first call. An error when this process must not use it: another HIP
// runtime is loaded, the process was forked after the start, or it is exiting.
hipError_t ready();

Arena& arena_of(Device& device);
Arena& host_arena();
int device_count();
int current_device();  // of the calling thread
void set_current_device(int device);
hipError_t check_device(int device);  // hipSuccess or hipErrorInvalidDevice

hipError_t keep_error(hipError_t error);

// hipHostFaultLostDevice of the calling thread's device.
inline bool device_is_lost() {
  return hipHostGetFault(hipHostFaultLostDevice) == current_device() + 1;
}

// Runs the body of an API call: its error is kept as the thread's last one. Errors of the C++
// library become HIP's. Calls that a lost device refuses go through enter().
template <class Body>
hipError_t enter_without_device(Body&& body) noexcept {
  hipError_t error = ready();
  if (error != hipSuccess) return keep_error(error);
  try {
    error = body();
  } catch (const std::bad_alloc&) {
    error = hipErrorOutOfMemory;
  } catch (...) {
    error = hipErrorUnknown;
  }
  return keep_error(error);
}
template <class Body>
hipError_t enter(Body&& body) noexcept {
  return enter_without_device([&] { return device_is_lost() ? hipErrorLaunchFailure : body(); });
}

}  // namespace weft::hiphost
