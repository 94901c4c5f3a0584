// Copies and fills as Work, for streams and for graph nodes.
#pragma once

#include <hip/hip_runtime_api.h>

#include "op.h"

namespace weft::hiphost {

struct CopyRequest {
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
};
// hipErrorInvalidValue when an end leaves the allocation it starts in.
hipError_t copy_work(const CopyRequest& request, Work& work);

struct FillRequest {
  void* to = nullptr;
  uint32_t value = 0;
  unsigned element_bytes = 1;
  size_t count = 0;
};
hipError_t fill_work(const FillRequest& request, Work& work);

}  // namespace weft::hiphost
