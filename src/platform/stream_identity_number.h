// Which stream a handle names, where the runtime numbers streams (host, nvidia). Host code only.
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
