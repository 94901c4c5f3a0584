// A program that has another libamdhip64 loaded (a fake of the tests) and calls HIP: the calls
// arrive at libhiphost, which refuses.
#include <hip/hip_runtime.h>

#include <cstdio>

extern "C" int fake_amdhip_symbol(void);

int main() {
  int count = 7;
  void* p = nullptr;
  const hipError_t error = hipGetDeviceCount(&count);
  const bool refused = hipMalloc(&p, 64) == error && hipStreamSynchronize(nullptr) == error &&
                       hipDeviceSynchronize() == error && p == nullptr;
  printf("%s count %d\n", hipGetErrorName(error), count);
  return refused && error != hipSuccess && fake_amdhip_symbol() == 1 ? 0 : 1;
}
