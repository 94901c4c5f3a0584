// Narrow floats by their definition, slowly: a table of the values of all codes, and rounding by
// looking for the nearest one. Shares nothing with src/device. Used by the arithmetic tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "device/types.h"

namespace weft::reference {

enum class Specials { kInfinityAndNan, kOneNan, kMinusZeroIsNan };

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;
  bool saturates;

  uint32_t codes_without_sign() const { return 1u << (exponent_bits + mantissa_bits); }
};

template <class Type>
constexpr Format kFormatOf{};
template <>
inline constexpr Format kFormatOf<Float16>{5, 10, 15, Specials::kInfinityAndNan, false};
template <>
inline constexpr Format kFormatOf<Bfloat16>{8, 7, 127, Specials::kInfinityAndNan, false};
template <>
inline constexpr Format kFormatOf<Fp8E4m3>{4, 3, 7, Specials::kOneNan, true};
template <>
inline constexpr Format kFormatOf<Fp8E5m2>{5, 2, 15, Specials::kInfinityAndNan, true};
template <>
inline constexpr Format kFormatOf<Fp8E4m3Fnuz>{4, 3, 8, Specials::kMinusZeroIsNan, true};
template <>
inline constexpr Format kFormatOf<Fp8E5m2Fnuz>{5, 2, 16, Specials::kMinusZeroIsNan, true};

// All values of a format.
class Table {
 public:
  explicit Table(const Format& format) : format_(format) {
    const uint32_t half = format.codes_without_sign();
    for (uint32_t code = 0; code < 2 * half; ++code) values_.push_back(value_of(code));
    for (uint32_t code = 0; code < half && std::isfinite(values_[code]); ++code)
      finite_.push_back(values_[code]);
  }

  const Format& format() const { return format_; }
  uint32_t codes() const { return uint32_t(values_.size()); }
  double value(uint32_t code) const { return values_[code]; }
  // Not negative, in order; the index is the code.
  const std::vector<double>& finite() const { return finite_; }
  double largest() const { return finite_.back(); }
  // What would come after the largest if exponents went on.
  double beyond() const { return largest() + (largest() - finite_[finite_.size() - 2]); }

  // The value that a float is stored as; NaN for NaN.
  double rounded(float x) const {
    if (std::isnan(x)) return x;
    if (std::isinf(x)) {
      return format_.specials == Specials::kInfinityAndNan
                 ? double(x)
                 : std::numeric_limits<double>::quiet_NaN();
    }
    const double magnitude = std::fabs(double(x));
    const double sign = std::signbit(x) ? -1 : 1;
    const double nearest = nearest_to(magnitude);
    if (nearest == 0 && format_.specials == Specials::kMinusZeroIsNan) return 0;
    return sign * nearest;
  }

 private:
  double value_of(uint32_t code) const {
    const uint32_t half = format_.codes_without_sign();
    const double sign = code >= half ? -1 : 1;
    const uint32_t magnitude = code % half;
    const int exponent = int(magnitude >> format_.mantissa_bits);
    const int mantissa = int(magnitude & ((1u << format_.mantissa_bits) - 1));
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (format_.specials == Specials::kMinusZeroIsNan && code == half) return kNan;
    if (format_.specials == Specials::kOneNan && magnitude == half - 1) return kNan;
    if (format_.specials == Specials::kInfinityAndNan &&
        exponent == (1 << format_.exponent_bits) - 1) {
      return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : kNan;
    }
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - format_.bias - format_.mantissa_bits);
    return sign * std::ldexp((1 << format_.mantissa_bits) + mantissa,
                             exponent - format_.bias - format_.mantissa_bits);
  }

  double nearest_to(double magnitude) const {
    const size_t above =
        size_t(std::upper_bound(finite_.begin(), finite_.end(), magnitude) - finite_.begin());
    const size_t below = above - 1;
    const bool top = above == finite_.size();
    if (top && format_.saturates) return largest();
    const double up = top ? beyond() : finite_[above];
    const double to_below = magnitude - finite_[below];
    const double to_above = up - magnitude;
    const bool take_above = to_above < to_below || (to_above == to_below && below % 2 == 1);
    if (!take_above) return finite_[below];
    return top ? std::numeric_limits<double>::infinity() : up;
  }

  Format format_;
  std::vector<double> values_;
  std::vector<double> finite_;
};

template <class Type>
const Table& table() {
  static const Table all(kFormatOf<Type>);
  return all;
}

}  // namespace weft::reference
