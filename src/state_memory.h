// Device and pinned host memory for what a communicator shares with its kernels. Taken back memory
// is kept for the next communicator and never given to the runtime: hipFree and hipHostFree wait
// for every kernel of the device, also for one that waits for a rank which is being closed. Owns:
// the pool. Thread rule: any thread; none of it waits for kernels.
#pragma once

#include <cstddef>

namespace weft {

// Move-only. Not zeroed.
class StateMemory {
 public:
  // On the current device. Throws Error(ncclUnhandledCudaError) when there is none left.
  StateMemory(size_t device_bytes, size_t host_bytes);
  StateMemory(StateMemory&& other) noexcept;
  StateMemory& operator=(StateMemory&&) = delete;
  ~StateMemory();

  char* on_device() const { return block_.on_device; }
  char* on_host() const { return block_.on_host; }  // kernels reach it too

  struct Block {
    char* on_device;
    char* on_host;
    size_t device_bytes, host_bytes;
    int device;
  };

 private:
  Block block_;
};

}  // namespace weft
