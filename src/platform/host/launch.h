// Checking a kernel launch and turning it into Work.
#pragma once

#include <hip/hip_runtime_api.h>

#include "op.h"

namespace weft::hiphost {

struct LaunchRequest {
  const void* function = nullptr;
  dim3 grid, block;
  void** args = nullptr;
  size_t shared_bytes = 0;
};
// Copies the arguments. An error when the function is no kernel or the sizes are not launchable.
hipError_t kernel_work(const LaunchRequest& request, Work& work);

inline constexpr unsigned kMaxBlockThreads = 1024;
inline constexpr size_t kMaxSharedBytes = size_t{64} << 10;

}  // namespace weft::hiphost
