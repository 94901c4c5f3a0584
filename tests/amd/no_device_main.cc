// Without a device the library still loads, and says that there is none. Skips where there is one.
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <cstdio>
#include <cstring>

int main() {
  int devices = 0;
  if (hipGetDeviceCount(&devices) == hipSuccess && devices > 0) {
    std::printf("skipped: %d devices here\n", devices);
    return 77;
  }
  ncclComm_t comm = nullptr;
  const int device = 0;
  const ncclResult_t code = ncclCommInitAll(&comm, 1, &device);
  const char* text = ncclGetLastError(nullptr);
  std::printf("ncclCommInitAll: %s: %s\n", ncclGetErrorString(code), text);
  const bool says_so = std::strstr(text, "NoDevice") != nullptr ||
                       std::strstr(text, "no ROCm-capable device") != nullptr;
  return code == ncclUnhandledCudaError && comm == nullptr && says_so ? 0 : 1;
}
