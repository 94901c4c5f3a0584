/* bfloat16 storage with conversions through float. */
#ifndef HIP_HOST_BF16_H_
#define HIP_HOST_BF16_H_

#include <hip/hip_fp16.h>

#ifdef __cplusplus
struct __hip_bfloat16 {
  uint16_t data;

  __hip_bfloat16() = default;
  /* Nearest even; NaN stays a quiet NaN. */
  __hip_bfloat16(float f) {
    const uint32_t u = hip_host::bits_of(f);
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    data = static_cast<uint16_t>(nan ? u >> 16 | 0x40u : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
  }
  operator float() const { return hip_host::float_of(static_cast<uint32_t>(data) << 16); }
};
typedef __hip_bfloat16 hip_bfloat16;

inline __hip_bfloat16 __float2bfloat16(float f) { return __hip_bfloat16(f); }
inline float __bfloat162float(__hip_bfloat16 b) { return static_cast<float>(b); }
#endif

#endif
