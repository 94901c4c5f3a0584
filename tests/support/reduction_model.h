// What an AllReduce must give, computed element by element without any code of src/device. Inputs
// are chosen so that the result does not depend on the order of ranks: whatever a ring, tree or
// fold does, every bit is known. Patterns repeat after kPeriod elements, a prime, so that a large
// buffer costs no more model than a small one.
#pragma once

#include <rccl/rccl.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../unit/arithmetic_reference.h"

namespace weft::test {

inline constexpr size_t kPeriod = 1021;

struct Kind {
  ncclDataType_t type;
  const char* name;
  size_t bytes;
  bool is_float, is_signed;
  const reference::Table* table;  // of narrow floats
  double most_sum;                // integers up to here are exact
};

inline const Kind& kind_of(ncclDataType_t type, bool fnuz) {
  using namespace reference;
  static const Kind kinds[ncclNumTypes] = {
      {ncclInt8, "int8", 1, false, true, nullptr, 0},
      {ncclUint8, "uint8", 1, false, false, nullptr, 0},
      {ncclInt32, "int32", 4, false, true, nullptr, 0},
      {ncclUint32, "uint32", 4, false, false, nullptr, 0},
      {ncclInt64, "int64", 8, false, true, nullptr, 0},
      {ncclUint64, "uint64", 8, false, false, nullptr, 0},
      {ncclFloat16, "float16", 2, true, true, &table<Float16>(), 2048},
      {ncclFloat32, "float32", 4, true, true, nullptr, 1 << 24},
      {ncclFloat64, "float64", 8, true, true, nullptr, 1 << 24},
      {ncclBfloat16, "bfloat16", 2, true, true, &table<Bfloat16>(), 256},
      {ncclFloat8e4m3, "e4m3", 1, true, true, &table<Fp8E4m3>(), 16},
      {ncclFloat8e5m2, "e5m2", 1, true, true, &table<Fp8E5m2>(), 8},
  };
  static const Kind fnuz_kinds[] = {
      {ncclFloat8e4m3, "e4m3fnuz", 1, true, true, &table<Fp8E4m3Fnuz>(), 16},
      {ncclFloat8e5m2, "e5m2fnuz", 1, true, true, &table<Fp8E5m2Fnuz>(), 8},
  };
  return fnuz && type >= ncclFloat8e4m3 ? fnuz_kinds[type - ncclFloat8e4m3] : kinds[type];
}

inline uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

inline double value_of(const Kind& kind, uint64_t bits) {
  if (kind.table) return kind.table->value(uint32_t(bits));
  if (kind.bytes == 4) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return double(x);
  }
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline uint64_t bits_of(const Kind& kind, double x) {
  uint64_t bits = 0;
  if (kind.table) {
    const double rounded = kind.table->rounded(float(x));
    const auto& finite = kind.table->finite();
    const auto at = std::lower_bound(finite.begin(), finite.end(), std::fabs(rounded));
    bits = uint64_t(at - finite.begin());  // past the end: infinity
    if (std::signbit(rounded)) bits |= kind.table->format().codes_without_sign();
  } else if (kind.bytes == 4) {
    const float narrow = float(x);
    std::memcpy(&bits, &narrow, sizeof narrow);
  } else {
    std::memcpy(&bits, &x, sizeof x);
  }
  return bits;
}

inline uint64_t cut(const Kind& kind, uint64_t bits) {
  return kind.bytes == 8 ? bits : bits & ((uint64_t(1) << (8 * kind.bytes)) - 1);
}
inline int64_t extended(const Kind& kind, uint64_t bits) {
  const int shift = int(64 - 8 * kind.bytes);
  return kind.is_signed ? int64_t(bits << shift) >> shift : int64_t(bits);
}

// Element i of what `rank` brings in.
inline uint64_t input_bits(const Kind& kind, ncclRedOp_t op, int rank, size_t i, uint64_t seed) {
  const uint64_t random = mix(mix(seed + uint64_t(rank)) ^ (i % kPeriod));
  if (!kind.is_float) return cut(kind, random);
  if (op == ncclMin || op == ncclMax) {  // any number
    const uint64_t bits = cut(kind, random);
    return std::isfinite(value_of(kind, bits)) ? bits : bits_of(kind, -double(rank));
  }
  if (op == ncclProd) {  // powers of two that keep near 1: exact in every order
    const double magnitude = random & 1 ? 1.0 : rank % 2 ? 0.5 : 2.0;
    return bits_of(kind, random & 2 ? magnitude : -magnitude);
  }
  // Integers so small that 16 ranks add up exactly; of e5m2 only 8 ranks may bring something.
  const int64_t most = int64_t(kind.most_sum) / 16;
  if (most == 0) return bits_of(kind, rank < 8 ? double(random % 3) - 1 : 0);
  return bits_of(kind, double(random % uint64_t(2 * most + 1)) - double(most));
}

namespace detail {

inline uint64_t reduce_integers(const Kind& kind, ncclRedOp_t op, const std::vector<uint64_t>& in) {
  uint64_t all = in[0];
  for (size_t rank = 1; rank < in.size(); ++rank) {
    const uint64_t other = in[rank];
    const bool less = kind.is_signed ? extended(kind, other) < extended(kind, all) : other < all;
    if (op == ncclProd) all *= other;
    if (op == ncclSum || op == ncclAvg) all += other;
    if ((op == ncclMin && less) || (op == ncclMax && !less)) all = other;
  }
  all = cut(kind, all);
  if (op != ncclAvg) return all;
  const auto n = int64_t(in.size());
  return cut(kind, kind.is_signed ? uint64_t(extended(kind, all) / n) : all / uint64_t(n));
}

inline double smaller(double a, double b) {
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

inline double average(const Kind& kind, double sum, size_t ranks) {
  double whole = 1;
  while (whole < double(ranks)) whole *= 2;
  if (kind.bytes == 8) return sum / whole * (whole / double(ranks));
  // One product in float, as docs/numerics.md says.
  return double(float(sum / whole) * float(float(whole) / float(ranks)));
}

}  // namespace detail

// What every rank must hold.
inline uint64_t reduce(const Kind& kind, ncclRedOp_t op, const std::vector<uint64_t>& in) {
  if (in.size() == 1) return in[0];
  if (!kind.is_float) return detail::reduce_integers(kind, op, in);
  double all = value_of(kind, in[0]);
  for (size_t rank = 1; rank < in.size(); ++rank) {
    const double other = value_of(kind, in[rank]);
    if (op == ncclProd) all *= other;
    if (op == ncclSum || op == ncclAvg) all += other;
    if (op == ncclMin) all = detail::smaller(all, other);
    if (op == ncclMax) all = -detail::smaller(-all, -other);
  }
  return bits_of(kind, op == ncclAvg ? detail::average(kind, all, in.size()) : all);
}

// kPeriod elements as bytes.
inline std::vector<char> input_pattern(const Kind& kind, ncclRedOp_t op, int rank, uint64_t seed) {
  std::vector<char> bytes(kPeriod * kind.bytes);
  for (size_t i = 0; i < kPeriod; ++i) {
    const uint64_t bits = input_bits(kind, op, rank, i, seed);
    std::memcpy(&bytes[i * kind.bytes], &bits, kind.bytes);
  }
  return bytes;
}

inline std::vector<char> expected_pattern(const Kind& kind, ncclRedOp_t op, int ranks,
                                          uint64_t seed) {
  std::vector<char> bytes(kPeriod * kind.bytes);
  std::vector<uint64_t> in(static_cast<size_t>(ranks));
  for (size_t i = 0; i < kPeriod; ++i) {
    for (int rank = 0; rank < ranks; ++rank) in[size_t(rank)] = input_bits(kind, op, rank, i, seed);
    const uint64_t bits = reduce(kind, op, in);
    std::memcpy(&bytes[i * kind.bytes], &bits, kind.bytes);
  }
  return bytes;
}

inline std::vector<char> repeated(const std::vector<char>& pattern, size_t bytes) {
  std::vector<char> all(bytes);
  for (size_t at = 0; at < bytes; at += pattern.size())
    std::memcpy(&all[at], pattern.data(), std::min(pattern.size(), bytes - at));
  return all;
}

}  // namespace weft::test
