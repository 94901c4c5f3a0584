/* The headers of the host runtime compiled as C. */
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

int host_runtime_use_from_c(void) {
  void* memory = NULL;
  const dim3 one = {1, 1, 1};
  const uint3 v = make_uint3(1, 2, 3);
  if (hipMalloc(&memory, 64) != hipSuccess) return 1;
  if (hipMemset(memory, 0, 64) != hipSuccess) return 2;
  if (hipFree(memory) != hipSuccess) return 3;
  return one.x == 1 && v.z == 3 ? 0 : 4;
}
