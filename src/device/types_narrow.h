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
#include <type_traits>

#include "device_platform.h"

namespace weft {

template <class To, class From>
WEFT_HD constexpr To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

// What the arithmetic below is done in: one lane, or as many as a platform's vectors have
// (Native::Quad of the host).
struct OneLane {
  using Int = int32_t;
  using Uint = uint32_t;
  using Float = float;
};

// All ones where a condition holds. Selects written as arithmetic serve single lanes and vectors
// alike.
template <class Lanes, class Condition>
WEFT_HD constexpr typename Lanes::Int mask(Condition condition) {
  if constexpr (std::is_same_v<Condition, bool>) {
    return -int32_t(condition);
  } else {
    return condition;
  }
}

struct Bfloat16Codec {
  template <class Lanes = OneLane>
  static WEFT_HD typename Lanes::Float decode(typename Lanes::Uint code) {
    return bits_as<typename Lanes::Float>(code << 16);
  }

  template <class Lanes = OneLane>
  static WEFT_HD typename Lanes::Uint encode(typename Lanes::Float value) {
    using Int = typename Lanes::Int;
    using Uint = typename Lanes::Uint;
    const Uint bits = bits_as<Uint>(value);
    const Uint rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const Uint nan = bits_as<Uint>(mask<Lanes>(bits_as<Int>(bits & 0x7fffffff) > 0x7f800000));
    return (rounded & ~nan) | (nan & 0x7fff);
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

  static constexpr int kShift = 23 - kMantissa;  // between the lowest mantissa bits of both formats
  static constexpr int32_t kSmallestNormal = (128 - kBias) << 23;  // as float bits
  static constexpr int32_t kFloatInfinity = 0x7f800000;
  static constexpr int32_t kFloatNan = 0x7fc00000;

  template <class Lanes = OneLane>
  static WEFT_HD typename Lanes::Float decode(typename Lanes::Uint code) {
    using Int = typename Lanes::Int;
    using Uint = typename Lanes::Uint;
    using Float = typename Lanes::Float;
    const Int magnitude = bits_as<Int>(code & uint32_t(kAllOnes));
    // Moved to a float's place the exponent is too small by the difference of the biases, for
    // subnormals too.
    constexpr float kRebias = bits_as<float>((254 - kBias) << 23);
    Int bits = bits_as<Int>(bits_as<Float>(magnitude << kShift) * kRebias);
    if constexpr (kTop == TopCodes::kIeee)
      bits |= mask<Lanes>(magnitude >= kInfinity) & kFloatInfinity;
    if constexpr (kTop == TopCodes::kOneNan) bits |= mask<Lanes>(magnitude == kAllOnes) & kFloatNan;
    if constexpr (kTop == TopCodes::kFnuz)
      bits |= mask<Lanes>(bits_as<Int>(code) == kSignBit) & kFloatNan;
    const Uint sign = (code & uint32_t(kSignBit)) << (31 - kValueBits);
    return bits_as<Float>(bits_as<Uint>(bits) | sign);
  }

  template <class Lanes = OneLane>
  static WEFT_HD typename Lanes::Uint encode(typename Lanes::Float value) {
    using Int = typename Lanes::Int;
    using Uint = typename Lanes::Uint;
    using Float = typename Lanes::Float;
    const Uint all = bits_as<Uint>(value);
    const Int magnitude = bits_as<Int>(all & 0x7fffffff);
    const Int capped = kCap + ((magnitude - kCap) & mask<Lanes>(magnitude < kCap));
    // How far the exponent is above that of the smallest normal, which subnormals share.
    const Int above = (capped & kFloatInfinity) - kSmallestNormal;
    const Int exponent = above & mask<Lanes>(above > 0);
    // Adding a power of two whose lowest mantissa bit weighs as much as the lowest one kept lets
    // the adder round.
    const Int rounder = exponent + (kSmallestNormal + (kShift << 23));
    const Int rounded = bits_as<Int>(bits_as<Float>(capped) + bits_as<Float>(rounder)) - rounder;
    Int code = rounded + (exponent >> kShift);
    if constexpr (kTop == TopCodes::kIeee && kSaturates) {
      code += mask<Lanes>(magnitude == kFloatInfinity) & 1;
    }
    const Int nan =
        mask<Lanes>(magnitude > (kTop == TopCodes::kIeee ? kFloatInfinity : kFloatInfinity - 1));
    const Int sign = bits_as<Int>((all >> (31 - kValueBits)) & uint32_t(kSignBit));
    if constexpr (kTop == TopCodes::kFnuz) {
      code = (code | sign) & mask<Lanes>(code != 0);  // there is no minus zero
      return bits_as<Uint>((code & ~nan) | (nan & kSignBit));
    }
    return bits_as<Uint>(code | (nan & kAllOnes) | sign);
  }

 private:
  // The largest magnitude worth rounding, as float bits: the largest finite value, or 2^16 whose
  // float16 code is infinity's.
  static constexpr int32_t kCap =
      kSaturates ? kSmallestNormal + (kLargest << kShift) - (1 << 23) : (127 + 16) << 23;
};

using HalfCodec = NarrowCodec<5, 10, 15, TopCodes::kIeee>;
using E4m3Codec = NarrowCodec<4, 3, 7, TopCodes::kOneNan>;
using E5m2Codec = NarrowCodec<5, 2, 15, TopCodes::kIeee>;
using E4m3FnuzCodec = NarrowCodec<4, 3, 8, TopCodes::kFnuz>;
using E5m2FnuzCodec = NarrowCodec<5, 2, 16, TopCodes::kFnuz>;

}  // namespace weft
