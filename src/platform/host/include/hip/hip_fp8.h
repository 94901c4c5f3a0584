/* 8-bit floats as storage types only: the runtime moves them, device code of the library converts
 * them. */
#ifndef HIP_HOST_FP8_H_
#define HIP_HOST_FP8_H_

#include <stdint.h>

typedef uint8_t __hip_fp8_storage_t;
#ifdef __cplusplus
struct __hip_fp8_e4m3 {
  __hip_fp8_storage_t __x;
};
struct __hip_fp8_e5m2 {
  __hip_fp8_storage_t __x;
};
struct __hip_fp8_e4m3_fnuz {
  __hip_fp8_storage_t __x;
};
struct __hip_fp8_e5m2_fnuz {
  __hip_fp8_storage_t __x;
};
#endif

#endif
