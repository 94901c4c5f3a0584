// A stream for the library's own short work (zeroing, probing) on the current device. Non-blocking,
// so it never waits for the user's default stream; made when needed and destroyed again, since
// devices have few hardware queues. Its wait has a limit: work on a broken path may never finish,
// and then the stream is left behind, not destroyed (that would wait).
#pragma once

#include <hip/hip_runtime.h>

#include <chrono>
#include <cstddef>
#include <thread>

#include "hip_check.h"

namespace weft {

class SideStream {
 public:
  SideStream() {
    hip_check(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking), "creating a stream");
  }
  ~SideStream() {
    if (!stuck_) (void)hipStreamDestroy(stream_);
  }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  hipStream_t get() const { return stream_; }
  // All work has ended, well or not. Does not wait.
  bool idle() const {
    const bool busy = hipStreamQuery(stream_) == hipErrorNotReady;
    if (busy) (void)hipGetLastError();
    return !busy;
  }
  // Something given to this stream did not end in time; nothing more can be done with it.
  bool stuck() const { return stuck_; }

  // hipSuccess when all work ended well, hipErrorNotReady after `limit`, else the error of the
  // work.
  hipError_t wait(std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
      const hipError_t state = hipStreamQuery(stream_);
      if (state != hipErrorNotReady) return state;
      (void)hipGetLastError();
      if (std::chrono::steady_clock::now() > deadline) {
        stuck_ = true;
        return hipErrorNotReady;
      }
      std::this_thread::sleep_for(kPollInterval);
    }
  }

 private:
  static constexpr std::chrono::microseconds kPollInterval{20};
  hipStream_t stream_ = nullptr;
  bool stuck_ = false;
};

// On a stream of our own, and waits for it, so that no stream of the user is touched. Within a
// DeviceScope a capture does not see it. Throws Error.
inline void copy_to_device(void* to, const void* from, size_t bytes) {
  constexpr std::chrono::seconds kLimit{20};
  SideStream stream;
  hip_check(hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream.get()),
            "copying {} bytes to the device", bytes);
  hip_check(stream.wait(kLimit), "waiting for a copy of {} bytes to the device", bytes);
}

}  // namespace weft
