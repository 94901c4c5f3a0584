// Element types and their bits. See types.h.
#include "types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "failure.h"

namespace weft::perf {
namespace {

constexpr FloatFormat kNoFormat{0, 0, 0, Specials::kIeee};
constexpr FloatFormat kHalf{5, 10, 15, Specials::kIeee};
constexpr FloatFormat kSingle{8, 23, 127, Specials::kIeee};
constexpr FloatFormat kDouble{11, 52, 1023, Specials::kIeee};
constexpr FloatFormat kBrain{8, 7, 127, Specials::kIeee};
constexpr FloatFormat kE4m3{4, 3, 7, Specials::kFiniteNan};
constexpr FloatFormat kE5m2{5, 2, 15, Specials::kIeee};
constexpr FloatFormat kE4m3Fnuz{4, 3, 8, Specials::kFnuz};
constexpr FloatFormat kE5m2Fnuz{5, 2, 16, Specials::kFnuz};

constexpr std::array<TypeInfo, ncclNumTypes> kTypes{{
    {ncclInt8, "int8", 1, TypeKind::kSigned, kNoFormat},
    {ncclUint8, "uint8", 1, TypeKind::kUnsigned, kNoFormat},
    {ncclInt32, "int32", 4, TypeKind::kSigned, kNoFormat},
    {ncclUint32, "uint32", 4, TypeKind::kUnsigned, kNoFormat},
    {ncclInt64, "int64", 8, TypeKind::kSigned, kNoFormat},
    {ncclUint64, "uint64", 8, TypeKind::kUnsigned, kNoFormat},
    {ncclFloat16, "half", 2, TypeKind::kFloat, kHalf},
    {ncclFloat32, "float", 4, TypeKind::kFloat, kSingle},
    {ncclFloat64, "double", 8, TypeKind::kFloat, kDouble},
    {ncclBfloat16, "bfloat16", 2, TypeKind::kFloat, kBrain},
    {ncclFloat8e4m3, "f8e4m3", 1, TypeKind::kFloat, kE4m3},
    {ncclFloat8e5m2, "f8e5m2", 1, TypeKind::kFloat, kE5m2},
}};
constexpr TypeInfo kFnuzE4m3{ncclFloat8e4m3, "f8e4m3", 1, TypeKind::kFloat, kE4m3Fnuz};
constexpr TypeInfo kFnuzE5m2{ncclFloat8e5m2, "f8e5m2", 1, TypeKind::kFloat, kE5m2Fnuz};

struct Alias {
  const char* name;
  ncclDataType_t type;
};
constexpr Alias kAliases[] = {
    {"char", ncclInt8},           {"int", ncclInt32},           {"float16", ncclFloat16},
    {"float32", ncclFloat32},     {"float64", ncclFloat64},     {"f16", ncclFloat16},
    {"f32", ncclFloat32},         {"f64", ncclFloat64},         {"bf16", ncclBfloat16},
    {"fp8_e4m3", ncclFloat8e4m3}, {"fp8_e5m2", ncclFloat8e5m2},
};

}  // namespace

const TypeInfo& type_info(ncclDataType_t type, bool fp8_fnuz) {
  if (fp8_fnuz && type == ncclFloat8e4m3) return kFnuzE4m3;
  if (fp8_fnuz && type == ncclFloat8e5m2) return kFnuzE5m2;
  return kTypes.at(static_cast<size_t>(type));
}

ncclDataType_t parse_type(const std::string& name) {
  for (const TypeInfo& info : kTypes) {
    if (name == info.name) return info.type;
  }
  for (const Alias& alias : kAliases) {
    if (name == alias.name) return alias.type;
  }
  std::string known = "all";
  for (const TypeInfo& info : kTypes) known += fmt::format(", {}", info.name);
  fail_usage("'{}' is not a data type; known: {}", name, known);
}

std::vector<ncclDataType_t> all_types() {
  std::vector<ncclDataType_t> types;
  for (const TypeInfo& info : kTypes) types.push_back(info.type);
  return types;
}

bool arch_has_fnuz(const std::string& arch) { return arch.rfind("gfx94", 0) == 0; }

double decode(const TypeInfo& type, uint64_t bits) {
  if (type.bytes == 8) return std::bit_cast<double>(bits);
  if (type.bytes == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  const FloatFormat& f = type.format;
  const uint64_t mantissa_mask = (uint64_t{1} << f.mantissa_bits) - 1;
  const uint64_t exponent_mask = (uint64_t{1} << f.exponent_bits) - 1;
  const uint64_t mantissa = bits & mantissa_mask;
  const uint64_t exponent = (bits >> f.mantissa_bits) & exponent_mask;
  const bool negative = (bits >> (type.bits() - 1)) & 1;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (f.specials == Specials::kFnuz && negative && exponent == 0 && mantissa == 0) return nan;
  if (exponent == exponent_mask) {
    if (f.specials == Specials::kFiniteNan && mantissa == mantissa_mask) return nan;
    if (f.specials == Specials::kIeee) {
      if (mantissa != 0) return nan;
      return negative ? -HUGE_VAL : HUGE_VAL;
    }
  }
  const int scale = (exponent == 0 ? 1 : static_cast<int>(exponent)) - f.bias - f.mantissa_bits;
  const uint64_t significand = exponent == 0 ? mantissa : mantissa | (mantissa_mask + 1);
  const double magnitude = std::ldexp(static_cast<double>(significand), scale);
  return negative ? -magnitude : magnitude;
}

uint64_t encode(const TypeInfo& type, double value) {
  if (type.bytes == 8) return std::bit_cast<uint64_t>(value);
  if (type.bytes == 4) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (value == 0) return 0;
  const FloatFormat& f = type.format;
  int exponent = std::max(std::ilogb(value), 1 - f.bias);
  auto significand = static_cast<uint64_t>(
      std::nearbyint(std::ldexp(std::fabs(value), f.mantissa_bits - exponent)));
  const uint64_t hidden = uint64_t{1} << f.mantissa_bits;
  if (significand == 2 * hidden) {  // rounded up into the next binade
    significand = hidden;
    ++exponent;
  }
  uint64_t bits = significand;  // subnormal: the exponent field is 0
  if (significand >= hidden) {
    bits = (static_cast<uint64_t>(exponent + f.bias) << f.mantissa_bits) | (significand - hidden);
  }
  if (value < 0 && bits != 0) bits |= uint64_t{1} << (type.bits() - 1);
  return bits;
}

double largest_finite(const TypeInfo& type) {
  const FloatFormat& f = type.format;
  const uint64_t all_ones = type.mask() >> 1;  // without the sign
  switch (f.specials) {
    case Specials::kFnuz:
      return decode(type, all_ones);
    case Specials::kFiniteNan:
      return decode(type, all_ones - 1);
    case Specials::kIeee:
      break;
  }
  const uint64_t infinity = ((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
  return decode(type, infinity - 1);
}

double smallest_positive(const TypeInfo& type) { return decode(type, 1); }

int64_t sign_extend(const TypeInfo& type, uint64_t bits) {
  if (type.kind != TypeKind::kSigned) return static_cast<int64_t>(bits);
  const unsigned shift = 64 - type.bits();
  return static_cast<int64_t>(bits << shift) >> shift;
}

std::string format_value(const TypeInfo& type, uint64_t bits) {
  const int digits = static_cast<int>(type.bytes) * 2;
  if (type.is_float()) return fmt::format("{} (0x{:0{}x})", decode(type, bits), bits, digits);
  if (type.kind == TypeKind::kSigned) {
    return fmt::format("{} (0x{:0{}x})", sign_extend(type, bits), bits, digits);
  }
  return fmt::format("{} (0x{:0{}x})", bits, bits, digits);
}

}  // namespace weft::perf
