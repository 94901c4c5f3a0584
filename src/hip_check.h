// Turns a HIP return code into the project's Error. Owns: the wording of "which call failed, why"
// and nothing else. Device memory calls that may fail by design (export, import, peer access) do
// not use this: they keep the code and fall back.
#pragma once

#include <hip/hip_runtime.h>

#include <utility>

#include "error.h"

namespace weft {

// "out of memory (hipError 2)": the runtime's text and its number.
inline std::string hip_text(hipError_t code) {
  return fmt::format("{} (hipError {})", hipGetErrorString(code), static_cast<int>(code));
}

// Returns when `code` is hipSuccess; else throws Error(ncclUnhandledCudaError, "<what>: <runtime's
// text>"). Usage: hip_check(hipMalloc(&p, n), "allocating {} bytes on device {}", n, device). The
// arguments are formatted only on failure. The runtime's sticky "last error" is cleared, so that a
// caller's later hipGetLastError does not see ours.
template <class... Args>
void hip_check(hipError_t code, fmt::format_string<Args...> what, Args&&... args) {
  if (code == hipSuccess) return;
  (void)hipGetLastError();
  throw Error(ncclUnhandledCudaError,
              fmt::format(what, std::forward<Args>(args)...) + ": " + hip_text(code));
}

}  // namespace weft
