// Settings of the simulated machine, read from the environment once, at the first HIP call, and
// then fixed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::hiphost {

struct Config {
  int devices = 8;              // WEFT_HOST_DEVICES
  std::string arch = "gfx942";  // WEFT_HOST_ARCH
  size_t memory_bytes = 0;  // WEFT_HOST_MEMORY, with K, M, G, T: bytes of a device, a power of two
  int workers = 1;          // WEFT_HOST_WORKERS: threads that run blocks; default one per core
  int spin_laps = 200;      // WEFT_HOST_SPIN: laps without success before a worker sleeps
  size_t stack_bytes = size_t{256} << 10;  // WEFT_HOST_STACK: of a fiber
  double stall_seconds = 0;  // WEFT_HOST_STALL: report after so long without progress; 0 never
  std::string faults;        // WEFT_HOST_FAULTS: faults.cc
  std::vector<int> visible;  // HIP_VISIBLE_DEVICES: physical ordinal of each visible device
};

Config read_config();

}  // namespace weft::hiphost
