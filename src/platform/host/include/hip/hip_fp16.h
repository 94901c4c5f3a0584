/* IEEE binary16 storage with conversions and arithmetic through float. Enough for programs that
 * fill and check buffers. */
#ifndef HIP_HOST_FP16_H_
#define HIP_HOST_FP16_H_

#include <stdint.h>
#include <string.h>

typedef struct __half_raw {
  uint16_t x;
} __half_raw;

#ifdef __cplusplus
namespace hip_host {

inline uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}
inline float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

/* Nearest even; overflow gives infinity, NaN stays NaN. */
inline uint16_t half_from_float(float f) {
  const uint32_t u = bits_of(f), sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u); /* >= 65520 */
  if (magnitude < 0x38800000u) { /* below 2^-14: the sum rounds at 2^-24, the step of subnormals */
    const float shifted = float_of(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (bits_of(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}
inline float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, exponent = h >> 10 & 0x1fu;
  const uint32_t fraction = h & 0x3ffu;
  if (exponent == 0x1fu) return float_of(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return float_of(sign | (exponent + 112u) << 23 | fraction << 13);
  const float value = static_cast<float>(fraction) * 5.9604644775390625e-8f; /* 2^-24 */
  return sign != 0 ? -value : value;
}

}  // namespace hip_host

struct __half {
  uint16_t x;

  __half() = default;
  __half(float f) : x(hip_host::half_from_float(f)) {}
  __half(const __half_raw& raw) : x(raw.x) {}
  operator float() const { return hip_host::half_to_float(x); }
  operator __half_raw() const { return __half_raw{x}; }
};
typedef __half half;

inline __half __float2half(float f) { return __half(f); }
inline __half __float2half_rn(float f) { return __half(f); }
inline float __half2float(__half h) { return static_cast<float>(h); }
inline __half __hadd(__half a, __half b) {
  return __half(static_cast<float>(a) + static_cast<float>(b));
}
inline __half __hmul(__half a, __half b) {
  return __half(static_cast<float>(a) * static_cast<float>(b));
}
inline __half __hmax(__half a, __half b) {
  return static_cast<float>(a) < static_cast<float>(b) ? b : a;
}
inline __half __hmin(__half a, __half b) {
  return static_cast<float>(b) < static_cast<float>(a) ? b : a;
}
#endif

#endif
