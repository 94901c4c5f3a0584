// Which stream a handle names: nvidia platform. Every platform folder has this file with the same
// names (contract: src/platform/README.md). Host code only.
#pragma once

#include <hip/hip_runtime.h>

#include <optional>

namespace weft::platform {

inline std::optional<unsigned long long> stream_id(hipStream_t stream) {
  unsigned long long id = 0;
  if (hipStreamGetId(stream, &id) == hipSuccess) return id;
  (void)hipGetLastError();
  return std::nullopt;
}

}  // namespace weft::platform
