// Which stream a handle names: amd platform. Every platform folder has this file with the same
// names (contract: src/platform/README.md). Host code only.
#pragma once

#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <optional>

namespace weft::platform {

// Runtimes before ROCm 7 do not have the call, so it is looked up in the one that is loaded.
inline std::optional<unsigned long long> stream_id(hipStream_t stream) {
  using Function = hipError_t (*)(hipStream_t, unsigned long long*);
  static const auto get_id = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "hipStreamGetId"));
  unsigned long long id = 0;
  if (get_id == nullptr) return std::nullopt;
  if (get_id(stream, &id) == hipSuccess) return id;
  (void)hipGetLastError();
  return std::nullopt;
}

}  // namespace weft::platform
