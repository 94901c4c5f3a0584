// What a communicator keeps on its device and shares with its kernels: the DeviceComm and the words
// of device/work.h. Owns: that memory, and starting values of boxes and counters. Does not own:
// boxes (transport/links.h).
#pragma once

#include <hip/hip_runtime.h>

#include <chrono>
#include <optional>

#include "device/work.h"
#include "transport/links.h"

namespace weft {

class DeviceState {
 public:
  // On the current device. `counter_base` is the first value of every counter, equal on all ranks.
  // The inboxes get their starting words here, so a barrier of all ranks must follow before any
  // kernel.
  DeviceState(int rank, int size, const BoxLayout& box, const Links& links, uint32_t counter_base,
              uint32_t wire_version);
  ~DeviceState();
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  const DeviceComm* device_comm() const {
    return reinterpret_cast<const DeviceComm*>(device_memory_);
  }

  // Kernels that run leave at their next look at the word.
  void abort() noexcept;
  // Why a wait of a kernel gave up; kNone while none did.
  Fault fault() const noexcept;
  // The words of the device as they are now, while kernels may run. One thread at a time.
  struct Reading {
    const DeviceWords* words;  // null: the copy did not end within `limit`, or the device is lost
    bool lost;                 // the runtime refuses: no kernel runs any more
  };
  Reading read_words(std::chrono::milliseconds limit) const noexcept;

 private:
  struct HostMemory {
    HostWords words;
    DeviceWords mirror;  // the copy engine writes it
  };

  void fill(int rank, int size, const BoxLayout& box, const Links& links, uint32_t counter_base,
            uint32_t wire_version);
  void free() noexcept;

  char* device_memory_ = nullptr;
  HostMemory* host_ = nullptr;
  DeviceWords* words_ = nullptr;  // in device_memory_
  int device_ = 0;
};

}  // namespace weft
