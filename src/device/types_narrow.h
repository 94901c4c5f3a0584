// Floats narrower than 32 bits: how their codes become floats and back. Owns: the bit arithmetic of
// bfloat16, float16 and the four fp8 encodings, rounded to nearest even. Does not own: which
// encoding an architecture uses (chosen on the host by picking the kernel), nor what is done with
// the floats (reduce.h). docs/numerics.md states the rules; tests/unit/arithmetic checks them.
//
// Everything is integer arithmetic and selects, no branches and no tables, so that a plain loop
// vectorises with SSE2 and a GPU keeps it in registers. A platform may put its own instructions in
// place (types.h says how). Subnormals are kept everywhere: do not build with -ffast-math, nor
// flush denormals on the device.
#pragma once

#include <cstdint>

#include "device_platform.h"

namespace weft {

template <class To, class From>
WEFT_HD constexpr To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

struct Bfloat16Codec {
  static WEFT_HD float decode(uint16_t code) { return bits_as<float>(uint32_t(code) << 16); }

  static WEFT_HD uint16_t encode(float value) {
    const uint32_t bits = bits_as<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const uint32_t quiet_nan = bits >> 16 | 0x40;
    return uint16_t(int32_t(bits & 0x7fffffff) > 0x7f800000 ? quiet_nan : rounded);
  }
};

// What the codes at the top of a format mean.
enum class TopCodes {
  kIeee,    // the largest exponent is infinity and NaN (float16, e5m2 OCP)
  kOneNan,  // only all ones is NaN, no infinity (e4m3 OCP)
  kFnuz,    // none; minus zero is the one NaN (both FNUZ)
};

// A float of one sign bit, kExponent and kMantissa bits. 8-bit formats saturate: a finite value too
// large becomes the largest finite one. Infinity stays infinity where the format has it, else it
// becomes NaN. float16 overflows to infinity.
template <int kExponent, int kMantissa, int kBias, TopCodes kTop>
struct NarrowCodec {
  static constexpr int kValueBits = kExponent + kMantissa;
  static constexpr bool kSaturates = kValueBits == 7;
  static constexpr int32_t kAllOnes = (1 << kValueBits) - 1;
  static constexpr int32_t kSignBit = 1 << kValueBits;
  static constexpr int32_t kInfinity = ((1 << kExponent) - 1)
                                       << kMantissa;  // where the format has one
  static constexpr int32_t kLargest = kTop == TopCodes::kIeee
                                          ? kInfinity - 1
                                          : (kTop == TopCodes::kOneNan ? kAllOnes - 1 : kAllOnes);
  static constexpr int32_t kOverflow = kSaturates ? kLargest : kInfinity;
  static constexpr int32_t kNan = kTop == TopCodes::kFnuz ? kSignBit : kAllOnes;

  static constexpr int kShift = 23 - kMantissa;  // between the lowest mantissa bits of both formats
  static constexpr int32_t kRebias = (127 - kBias) << 23;
  static constexpr int32_t kSmallestNormal = kRebias + (1 << 23);  // as float bits
  static constexpr int32_t kFloatInfinity = 0x7f800000;
  static constexpr int32_t kFloatNan = 0x7fc00000;

  static WEFT_HD float decode(uint32_t code) {
    const int32_t magnitude = int32_t(code) & kAllOnes;
    const int32_t shifted = magnitude << kShift;
    // A subnormal, given the smallest normal's exponent, is too large by exactly that normal.
    const float above = bits_as<float>(shifted + kSmallestNormal) - bits_as<float>(kSmallestNormal);
    int32_t bits = magnitude < (1 << kMantissa) ? bits_as<int32_t>(above) : shifted + kRebias;
    if constexpr (kTop == TopCodes::kIeee)
      bits = magnitude >= kInfinity ? (shifted | kFloatInfinity) : bits;
    if constexpr (kTop == TopCodes::kOneNan) bits = magnitude == kAllOnes ? kFloatNan : bits;
    if constexpr (kTop == TopCodes::kFnuz) bits = int32_t(code) == kSignBit ? kFloatNan : bits;
    return bits_as<float>(uint32_t(bits) | (code & uint32_t(kSignBit)) << (31 - kValueBits));
  }

  static WEFT_HD uint32_t encode(float value) {
    // A float whose lowest mantissa bit weighs as much as this format's smallest subnormal: adding
    // it rounds there.
    constexpr int32_t kRounder = (127 + 24 - kBias - kMantissa) << 23;
    const uint32_t all = bits_as<uint32_t>(value);
    const int32_t magnitude = int32_t(all & 0x7fffffff);
    const int32_t subnormal =
        bits_as<int32_t>(bits_as<float>(magnitude) + bits_as<float>(kRounder)) - kRounder;
    const int32_t half_less_one = (1 << (kShift - 1)) - 1;
    const int32_t normal =
        (magnitude - kRebias + half_less_one + (magnitude >> kShift & 1)) >> kShift;
    int32_t code = magnitude < kSmallestNormal ? subnormal : normal;
    code = code > kOverflow ? kOverflow : code;
    if constexpr (kTop == TopCodes::kIeee && kSaturates)
      code = magnitude == kFloatInfinity ? kInfinity : code;
    // The last float that is a number for this format: infinity or the largest finite.
    constexpr int32_t kLastNumber = kTop == TopCodes::kIeee ? kFloatInfinity : kFloatInfinity - 1;
    const int32_t sign = int32_t(all >> (31 - kValueBits)) & kSignBit;
    if constexpr (kTop == TopCodes::kFnuz) {
      code = code == 0 ? 0 : code | sign;  // there is no minus zero
      return uint32_t(magnitude > kLastNumber ? kNan : code);
    }
    return uint32_t((magnitude > kLastNumber ? kNan : code) | sign);
  }
};

using HalfCodec = NarrowCodec<5, 10, 15, TopCodes::kIeee>;
using E4m3Codec = NarrowCodec<4, 3, 7, TopCodes::kOneNan>;
using E5m2Codec = NarrowCodec<5, 2, 15, TopCodes::kIeee>;
using E4m3FnuzCodec = NarrowCodec<4, 3, 8, TopCodes::kFnuz>;
using E5m2FnuzCodec = NarrowCodec<5, 2, 16, TopCodes::kFnuz>;

}  // namespace weft
