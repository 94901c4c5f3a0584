// Conversions of narrow floats by instruction, a 32-bit word of a pack at a time. Owns: struct
// Native, whose functions device/types.h and device/pack.h look for. They give the numbers of
// device/types_narrow.h (tests/device/native_cuda_test.cc compares all codes and all floats); where
// the machine has no such instruction, and on the host, they are those functions. Included by
// device_platform.h, after WEFT_HD.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

// Conversions that every compiled architecture has; fp8's since sm_89.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define WEFT_NATIVE_16 1
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define WEFT_NATIVE_8 1
#endif

namespace weft {

// Of device/types_narrow.h, which comes later.
enum class TopCodes;
template <int kExponent, int kMantissa, int kBias, TopCodes kTop>
struct NarrowCodec;
struct Bfloat16Codec;

namespace platform {

struct Native {
  template <TopCodes kTop>
  using Half = NarrowCodec<5, 10, 15, kTop>;
  // By their biases not the FNUZ formats.
  template <TopCodes kTop>
  using E4m3 = NarrowCodec<4, 3, 7, kTop>;
  template <TopCodes kTop>
  using E5m2 = NarrowCodec<5, 2, 15, kTop>;

  // ---- A word's floats in memory order ----

  template <TopCodes kTop>
  static WEFT_HD void unpack_word(Half<kTop> codec, uint32_t word, float* out) {
#ifdef WEFT_NATIVE_16
    floats_of_halves(word, out);
#else
    unpack_portable<2>(codec, word, out);
#endif
  }
  template <TopCodes kTop>
  static WEFT_HD void unpack_word(E4m3<kTop> codec, uint32_t word, float* out) {
#ifdef WEFT_NATIVE_8
    floats_of_halves(halves_of_e4m3(uint16_t(word)), out);
    floats_of_halves(halves_of_e4m3(uint16_t(word >> 16)), out + 2);
#else
    unpack_portable<4>(codec, word, out);
#endif
  }
  // A code is the upper byte of the same number as a half.
  template <TopCodes kTop>
  static WEFT_HD void unpack_word(E5m2<kTop> codec, uint32_t word, float* out) {
#ifdef WEFT_NATIVE_16
    floats_of_halves(__byte_perm(word, 0, 0x1404), out);
    floats_of_halves(__byte_perm(word, 0, 0x3424), out + 2);
#else
    unpack_portable<4>(codec, word, out);
#endif
  }

  // ---- And back, rounded to nearest even ----

  template <TopCodes kTop>
  static WEFT_HD uint32_t repack_word(Half<kTop> codec, const float* in) {
#ifdef WEFT_NATIVE_16
    uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(in[1]), "f"(in[0]));
    return word;
#else
    return repack_portable<2>(codec, in);
#endif
  }
  template <class Codec>
  requires std::is_same_v<Codec, Bfloat16Codec>
  static WEFT_HD uint32_t repack_word(Codec codec, const float* in) {
#ifdef WEFT_NATIVE_16
    uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(in[1]), "f"(in[0]));
    return word;
#else
    return repack_portable<2>(codec, in);
#endif
  }
  // The instruction makes infinity the largest number; ours becomes NaN, which x * 0 + x is.
  template <TopCodes kTop>
  static WEFT_HD uint32_t repack_word(E4m3<kTop> codec, const float* in) {
#ifdef WEFT_NATIVE_8
    const auto pair = [](float low, float high) {
      uint16_t codes;
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
          : "=h"(codes)
          : "f"(__fmaf_rn(high, 0.0f, high)), "f"(__fmaf_rn(low, 0.0f, low)));
      return uint32_t(codes);
    };
    return pair(in[0], in[1]) | pair(in[2], in[3]) << 16;
#else
    return repack_portable<4>(codec, in);
#endif
  }
  // The same; infinity's code follows that of the largest number.
  template <TopCodes kTop>
  static WEFT_HD uint32_t repack_word(E5m2<kTop> codec, const float* in) {
#ifdef WEFT_NATIVE_8
    const auto pair = [](float low, float high) {
      uint16_t codes;
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
      return uint32_t(codes) + (is_infinite(low) ? 1u : 0u) + (is_infinite(high) ? 256u : 0u);
    };
    return pair(in[0], in[1]) | pair(in[2], in[3]) << 16;
#else
    return repack_portable<4>(codec, in);
#endif
  }

  // ---- One element ----

  static WEFT_HD float half_to_float(uint16_t code) { return __half2float(__ushort_as_half(code)); }
  static WEFT_HD uint16_t float_to_half(float value) {
    return __half_as_ushort(__float2half_rn(value));
  }
  template <class Codec>
  static WEFT_HD auto fp8_to_float(Codec codec, uint8_t code)
      -> decltype(unpack_word(codec, code, nullptr), float()) {
    float all[4];
    unpack_word(codec, code, all);
    return all[0];
  }
  template <class Codec>
  static WEFT_HD auto float_to_fp8(Codec codec, float value)
      -> decltype(uint8_t(repack_word(codec, nullptr))) {
    const float all[4] = {value, 0, 0, 0};
    return uint8_t(repack_word(codec, all));
  }

 private:
  template <int kCount, class Codec>
  static WEFT_HD void unpack_portable(Codec, uint32_t word, float* out) {
    constexpr int kBits = 32 / kCount;
    for (int i = 0; i < kCount; ++i)
      out[i] = Codec::template decode<>((word >> (i * kBits)) & (~0u >> (32 - kBits)));
  }
  template <int kCount, class Codec>
  static WEFT_HD uint32_t repack_portable(Codec, const float* in) {
    uint32_t word = 0;
    for (int i = 0; i < kCount; ++i)
      word |= uint32_t(Codec::template encode<>(in[i])) << (i * 32 / kCount);
    return word;
  }

#ifdef WEFT_NATIVE_16
  static __device__ __forceinline__ void floats_of_halves(uint32_t pair, float* out) {
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %2;"
        "cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
        : "=f"(out[0]), "=f"(out[1])
        : "r"(pair));
  }
  static __device__ __forceinline__ bool is_infinite(float x) {
    return (__float_as_uint(x) & 0x7fffffffu) == 0x7f800000u;
  }
#endif
#ifdef WEFT_NATIVE_8
  static __device__ __forceinline__ uint32_t halves_of_e4m3(uint16_t codes) {
    uint32_t pair;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(codes));
    return pair;
  }
#endif
};

}  // namespace platform
}  // namespace weft
