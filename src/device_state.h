// What a communicator keeps on its device and shares with its kernels: what DeviceComm and the
// words of device/work.h name. Owns: that memory, and starting values of boxes and counters. Does
// not own: boxes (transport/links.h).
#pragma once

#include <hip/hip_runtime.h>

#include <chrono>
#include <optional>
#include <vector>

#include "device/work.h"
#include "state_memory.h"
#include "step_tables.h"

namespace weft {

class DeviceState {
 public:
  // On the current device; `peers` by rank, null pointers where there is no box. `counter_base` is
  // the first value of every counter, equal on all ranks. The inboxes get their starting words
  // here, so a barrier of all ranks must follow before any kernel.
  DeviceState(int rank, const std::vector<DevicePeer>& peers, const BoxLayout& box,
              uint32_t counter_base, uint32_t wire_version);
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  const DeviceComm& device_comm() const { return comm_; }
  const std::vector<DevicePeer>& peers() const { return peers_; }  // by rank
  StepTables steps;                                                // one thread at a time

  // Kernels that run leave at their next look at the word.
  void abort() noexcept;
  // Kernels that begin from now on leave at once, and the first of them reports Fault::kClosed.
  // False: the device did not take the order within `limit`. One thread at a time.
  bool refuse_kernels(std::chrono::milliseconds limit) noexcept;
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

  // Where things lie in the device memory.
  struct Layout {
    size_t counters, words, end;  // the peers lie first
  };
  static Layout layout_of(int size, const BoxLayout& box);

  int device_;
  std::vector<DevicePeer> peers_;
  Layout layout_;
  StateMemory memory_;
  HostMemory* host_;
  DeviceWords* words_;
  DeviceComm comm_;
};

}  // namespace weft
