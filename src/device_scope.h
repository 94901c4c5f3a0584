// The calling thread works on one device for the length of a scope, and leaves no trace: the
// current device and the stream capture mode are as before afterwards, also after an exception.
// Owns those two pieces of thread state, nothing else. Relaxed capture mode: a capture that another
// thread runs at the same time is neither broken by our allocations nor breaks them.
#pragma once

#include <hip/hip_runtime.h>

#include "hip_check.h"

namespace weft {

class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    hip_check(hipGetDevice(&before_), "asking for the current device");
    if (device != before_) hip_check(hipSetDevice(device), "making device {} current", device);
    device_ = device;
    relaxed_ = hipThreadExchangeStreamCaptureMode(&mode_) == hipSuccess;
  }
  ~DeviceScope() {
    if (relaxed_) (void)hipThreadExchangeStreamCaptureMode(&mode_);
    if (device_ != before_) (void)hipSetDevice(before_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = 0;
  int device_ = 0;
  hipStreamCaptureMode mode_ = hipStreamCaptureModeRelaxed;
  bool relaxed_ = false;
};

// The current device of the calling thread.
inline int current_device() {
  int device = 0;
  hip_check(hipGetDevice(&device), "asking for the current device");
  return device;
}

}  // namespace weft
