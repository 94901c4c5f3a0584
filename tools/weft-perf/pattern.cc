// Test data and exact results. See pattern.h for the choices and why they are exact.
#include "pattern.h"

#include <algorithm>
#include <cmath>

namespace weft::perf {
namespace {

constexpr uint64_t kGolden =
    0x9e3779b97f4a7c15;             // 2^64 / golden ratio: spreads consecutive numbers
constexpr int kNarrowMantissa = 3;  // fp8: so little room that only 4 ranks may contribute
constexpr int kContributors = 16, kNarrowContributors = 4;
constexpr int kProdContributors = 4;

// A bijection of 64 bits in which every input bit reaches every output bit (the finaliser published
// as MurmurHash3's, with Stafford's constants).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t element_hash(const Recipe& r, size_t i) { return mix(r.seed + kGolden * (i + 1)); }
uint64_t rank_hash(const Recipe& r, int rank, size_t i) {
  return mix(element_hash(r, i) + kGolden * static_cast<uint64_t>(rank + 1));
}

// Which turn `rank` has at element i: turns rotate with i so that every rank contributes somewhere.
int turn_of(const Recipe& r, int rank, size_t i) {
  const auto ranks = static_cast<uint64_t>(r.ranks);
  return static_cast<int>((static_cast<uint64_t>(rank) + element_hash(r, i) % ranks) % ranks);
}

uint64_t finite_bits(const Recipe& r, int rank, size_t i) {
  const uint64_t bits = rank_hash(r, rank, i) & r.type->mask();
  const double value = decode(*r.type, bits);
  return std::isfinite(value) && value != 0 ? bits : encode(*r.type, 1);
}

double float_sum_input(const Recipe& r, int rank, size_t i) {
  const int mantissa = r.type->format.mantissa_bits;
  const int most = mantissa <= kNarrowMantissa ? kNarrowContributors : kContributors;
  const int contributors = std::min(r.ranks, most);
  if (turn_of(r, rank, i) >= contributors) return 0;
  // The scalars of mulsum are at most 2, so half the room is left to each.
  const int scalar = r.op == Operation::kMulSum ? 2 : 1;
  const uint64_t exact_integers = uint64_t{2} << mantissa;
  const uint64_t room = std::max<uint64_t>(1, exact_integers / (contributors * scalar));
  const uint64_t hash = rank_hash(r, rank, i);
  const auto magnitude = static_cast<double>(1 + (hash >> 1) % room);
  return (hash & 1) != 0 ? -magnitude : magnitude;
}

double float_prod_input(const Recipe& r, int rank, size_t i) {
  constexpr double kFirst[] = {1, 1.5, -1, -1.5};
  constexpr double kOther[] = {0.5, 1, 2, -2};
  const int turn = turn_of(r, rank, i);
  if (turn >= kProdContributors) return 1;
  const uint64_t pick = rank_hash(r, rank, i) % 4;
  return turn == 0 ? kFirst[pick] : kOther[pick];
}

// delta of a pair of ranks: +d, -d, and 0 for a last rank without a partner.
int pair_sign(const Recipe& r, int rank) {
  if (rank % 2 == 0 && rank + 1 == r.ranks) return 0;
  return rank % 2 == 0 ? 1 : -1;
}

double float_avg_base(const Recipe& r, size_t i, uint64_t* room) {
  // Twice the room must be an exact integer, and the plain sum over all ranks must not overflow.
  const uint64_t exact = uint64_t{1} << std::min(r.type->format.mantissa_bits, 20);
  const double sum_room = std::min(largest_finite(*r.type) / (2.0 * r.ranks), 1.0e6);
  *room = std::max<uint64_t>(1, std::min(exact, static_cast<uint64_t>(sum_room)));
  const uint64_t hash = element_hash(r, i);
  const auto magnitude = static_cast<double>(1 + (hash >> 1) % *room);
  return (hash & 1) != 0 ? -magnitude : magnitude;
}

double float_avg_input(const Recipe& r, int rank, size_t i) {
  uint64_t room = 0;
  const double base = float_avg_base(r, i, &room);
  return base + pair_sign(r, rank) * static_cast<double>(rank_hash(r, rank / 2, i) % room);
}

int64_t int_avg_room(const Recipe& r) {
  const bool is_signed = r.type->kind == TypeKind::kSigned;
  const uint64_t largest = std::min<uint64_t>(r.type->mask() >> (is_signed ? 1 : 0), INT64_MAX);
  return static_cast<int64_t>(largest / static_cast<uint64_t>(r.ranks + 1));
}

int64_t int_avg_base(const Recipe& r, size_t i) {
  const int64_t room = int_avg_room(r);
  const uint64_t hash = element_hash(r, i);
  const auto magnitude = static_cast<int64_t>((hash >> 1) % static_cast<uint64_t>(room + 1));
  return r.type->kind == TypeKind::kSigned && (hash & 1) != 0 ? -magnitude : magnitude;
}

int64_t int_avg_input(const Recipe& r, int rank, size_t i) {
  const int64_t base = int_avg_base(r, i);
  // An unsigned base must not fall below 0.
  const int64_t room = r.type->kind == TypeKind::kSigned ? int_avg_room(r) : base;
  const uint64_t delta = rank_hash(r, rank / 2, i) % static_cast<uint64_t>(room + 1);
  return base + pair_sign(r, rank) * static_cast<int64_t>(delta);
}

uint64_t int_input(const Recipe& r, int rank, size_t i) {
  if (r.op == Operation::kAvg) return static_cast<uint64_t>(int_avg_input(r, rank, i));
  const uint64_t bits = rank_hash(r, rank, i);
  return r.op == Operation::kProd ? bits | 1 : bits;
}

uint64_t float_input(const Recipe& r, int rank, size_t i) {
  switch (r.op) {
    case Operation::kSum:
    case Operation::kMulSum:
      return encode(*r.type, float_sum_input(r, rank, i));
    case Operation::kProd:
      return encode(*r.type, float_prod_input(r, rank, i));
    case Operation::kAvg:
      return encode(*r.type, float_avg_input(r, rank, i));
    default:
      return finite_bits(r, rank, i);
  }
}

uint64_t int_reduced(const Recipe& r, size_t i) {
  if (r.op == Operation::kAvg) return static_cast<uint64_t>(int_avg_base(r, i));
  uint64_t result = input_bits(r, 0, i);
  if (r.op == Operation::kMulSum) result *= static_cast<uint64_t>(premul_scalar(0));
  for (int rank = 1; rank < r.ranks; ++rank) {
    const uint64_t x = input_bits(r, rank, i);
    const bool is_signed = r.type->kind == TypeKind::kSigned;
    const bool less =
        is_signed ? sign_extend(*r.type, x) < sign_extend(*r.type, result) : x < result;
    switch (r.op) {
      case Operation::kSum:
        result += x;
        break;
      case Operation::kMulSum:
        result += x * static_cast<uint64_t>(premul_scalar(rank));
        break;
      case Operation::kProd:
        result *= x;
        break;
      case Operation::kMin:
        result = less ? x : result;
        break;
      default:
        result = less ? result : x;
        break;
    }
  }
  return result;
}

Expected float_avg_reduced(const Recipe& r, size_t i) {
  double sum_of_magnitudes = 0;
  for (int rank = 0; rank < r.ranks; ++rank) {
    sum_of_magnitudes += std::fabs(float_avg_input(r, rank, i));
  }
  uint64_t room = 0;
  const double half_ulp = std::ldexp(1.0, -(r.type->format.mantissa_bits + 1));
  // (1+u)^(n+1) - 1, in a way that does not lose a u of 2^-53 beside the 1.
  const double growth = std::expm1((r.ranks + 1) * std::log1p(half_ulp));
  return {encode(*r.type, float_avg_base(r, i, &room)),
          growth * sum_of_magnitudes / r.ranks + r.ranks * smallest_positive(*r.type)};
}

double float_reduced(const Recipe& r, size_t i) {
  double result = decode(*r.type, input_bits(r, 0, i));  // rank 0's scalar for mulsum is 1
  for (int rank = 1; rank < r.ranks; ++rank) {
    const double x = decode(*r.type, input_bits(r, rank, i));
    switch (r.op) {
      case Operation::kSum:
        result += x;
        break;
      case Operation::kMulSum:
        result += x * premul_scalar(rank);
        break;
      case Operation::kProd:
        result *= x;
        break;
      case Operation::kMin:
        result = std::min(result, x);
        break;
      default:
        result = std::max(result, x);
        break;
    }
  }
  return result;
}

}  // namespace

uint64_t input_bits(const Recipe& r, int rank, size_t i) {
  if (r.op == Operation::kCopy) return rank_hash(r, rank, i) & r.type->mask();
  return (r.type->is_float() ? float_input(r, rank, i) : int_input(r, rank, i)) & r.type->mask();
}

Expected reduced_bits(const Recipe& r, size_t i) {
  if (!r.type->is_float()) return {int_reduced(r, i) & r.type->mask(), 0};
  if (r.op == Operation::kAvg) return float_avg_reduced(r, i);
  return {encode(*r.type, float_reduced(r, i)), 0};
}

bool matches(const TypeInfo& type, const Expected& expected, uint64_t got) {
  if (got == expected.bits) return true;
  if (!type.is_float()) return false;
  // false for NaN, so a NaN that was not asked for is wrong
  return std::fabs(decode(type, got) - decode(type, expected.bits)) <= expected.bound;
}

}  // namespace weft::perf
