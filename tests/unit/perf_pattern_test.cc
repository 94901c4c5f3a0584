// weft-perf's element types and test data: encodings, and that every expected result is what any
// order of operations gives.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "failure.h"
#include "pattern.h"

namespace weft::perf {
namespace {

constexpr Operation kReductions[] = {Operation::kSum, Operation::kProd, Operation::kMax,
                                     Operation::kMin, Operation::kAvg,  Operation::kMulSum};
constexpr size_t kElements = 400;

std::vector<const TypeInfo*> every_type() {
  std::vector<const TypeInfo*> types;
  for (ncclDataType_t type : all_types()) types.push_back(&type_info(type, false));
  types.push_back(&type_info(ncclFloat8e4m3, true));
  types.push_back(&type_info(ncclFloat8e5m2, true));
  return types;
}

TEST(PerfTypes, EveryNarrowFloatSurvivesTheRoundTrip) {
  for (const TypeInfo* type : every_type()) {
    if (!type->is_float() || type->bytes > 2) continue;
    for (uint64_t bits = 0; bits <= type->mask(); ++bits) {
      const double value = decode(*type, bits);
      if (!std::isfinite(value)) continue;
      const uint64_t back = encode(*type, value);
      ASSERT_EQ(decode(*type, back), value) << type->name << " " << bits;
      if (value != 0) {
        ASSERT_EQ(back, bits) << type->name;
      }
    }
  }
}

TEST(PerfTypes, KnownValues) {
  const TypeInfo& ocp = type_info(ncclFloat8e4m3, false);
  const TypeInfo& fnuz = type_info(ncclFloat8e4m3, true);
  EXPECT_EQ(decode(ocp, 0x38), 1.0);
  EXPECT_EQ(decode(fnuz, 0x40), 1.0);
  EXPECT_EQ(decode(fnuz, 0x38), 0.5);
  EXPECT_TRUE(std::isnan(decode(ocp, 0x7f)));
  EXPECT_TRUE(std::isnan(decode(fnuz, 0x80)));
  EXPECT_EQ(largest_finite(ocp), 448);
  EXPECT_EQ(largest_finite(fnuz), 240);
  EXPECT_EQ(largest_finite(type_info(ncclFloat8e5m2, false)), 57344);
  EXPECT_EQ(largest_finite(type_info(ncclFloat8e5m2, true)), 57344);
  EXPECT_EQ(largest_finite(type_info(ncclFloat16, false)), 65504);
  EXPECT_EQ(decode(type_info(ncclBfloat16, false), 0x3f80), 1.0);
  EXPECT_EQ(encode(type_info(ncclFloat16, false), 1.0 + 1.0 / 2048),
            0x3c00u);  // a tie goes to even
  EXPECT_TRUE(arch_has_fnuz("gfx942:sramecc+:xnack-"));
  EXPECT_FALSE(arch_has_fnuz("gfx950"));
  EXPECT_FALSE(arch_has_fnuz(""));
}

TEST(PerfTypes, Names) {
  EXPECT_EQ(parse_type("float"), ncclFloat32);
  EXPECT_EQ(parse_type("bf16"), ncclBfloat16);
  EXPECT_EQ(parse_type("fp8_e4m3"), ncclFloat8e4m3);
  EXPECT_THROW(parse_type("quad"), Failure);
}

// What a library does: it combines two elements and rounds to the type.
uint64_t combine(const Recipe& r, uint64_t a, uint64_t b) {
  const TypeInfo& type = *r.type;
  if (type.is_float()) {
    const double x = decode(type, a), y = decode(type, b);
    switch (r.op) {
      case Operation::kProd:
        return encode(type, x * y);
      case Operation::kMax:
        return x > y ? a : b;
      case Operation::kMin:
        return x < y ? a : b;
      default:
        return encode(type, x + y);
    }
  }
  const int64_t x = sign_extend(type, a), y = sign_extend(type, b);
  const bool is_signed = type.kind == TypeKind::kSigned;
  const bool less = is_signed ? x < y : a < b;
  switch (r.op) {
    case Operation::kProd:
      return (a * b) & type.mask();
    case Operation::kMax:
      return less ? b : a;
    case Operation::kMin:
      return less ? a : b;
    default:
      return (a + b) & type.mask();
  }
}

uint64_t scaled_input(const Recipe& r, int rank, size_t i) {
  const uint64_t bits = input_bits(r, rank, i);
  if (r.op != Operation::kMulSum) return bits;
  const int scalar = premul_scalar(rank);
  if (r.type->is_float()) return encode(*r.type, decode(*r.type, bits) * scalar);
  return (bits * static_cast<uint64_t>(scalar)) & r.type->mask();
}

uint64_t divide(const Recipe& r, uint64_t sum) {
  if (r.op != Operation::kAvg) return sum;
  if (r.type->is_float()) return encode(*r.type, decode(*r.type, sum) / r.ranks);
  if (r.type->kind == TypeKind::kUnsigned) return sum / static_cast<uint64_t>(r.ranks);
  return static_cast<uint64_t>(sign_extend(*r.type, sum) / r.ranks) & r.type->mask();
}

// In rank order from `first` on, wrapping around.
uint64_t fold_ring(const Recipe& r, size_t i, int first) {
  uint64_t result = scaled_input(r, first, i);
  for (int k = 1; k < r.ranks; ++k) {
    result = combine(r, result, scaled_input(r, (first + k) % r.ranks, i));
  }
  return divide(r, result);
}

uint64_t fold_tree(const Recipe& r, size_t i, int low, int high) {
  if (high - low == 1) return scaled_input(r, low, i);
  const int middle = (low + high) / 2;
  return combine(r, fold_tree(r, i, low, middle), fold_tree(r, i, middle, high));
}

TEST(PerfPattern, EveryOrderGivesTheExpectedResult) {
  for (const TypeInfo* type : every_type()) {
    for (Operation op : kReductions) {
      for (int ranks : {1, 2, 3, 4, 5, 8, 9, 16, 64}) {
        const Recipe recipe{type, op, ranks, 77};
        for (size_t i = 0; i < kElements; ++i) {
          const Expected expected = reduced_bits(recipe, i);
          for (uint64_t got : {fold_ring(recipe, i, 0), fold_ring(recipe, i, ranks / 2),
                               divide(recipe, fold_tree(recipe, i, 0, ranks))}) {
            ASSERT_TRUE(matches(*type, expected, got))
                << type->name << " op " << static_cast<int>(op) << " ranks " << ranks << " element "
                << i << " got " << format_value(*type, got) << " expected "
                << format_value(*type, expected.bits) << " +- " << expected.bound;
          }
        }
      }
    }
  }
}

TEST(PerfPattern, AverageScaledFirstStaysWithinTheBound) {
  for (const TypeInfo* type : every_type()) {
    if (!type->is_float()) continue;
    for (int ranks : {2, 3, 5, 8, 9}) {
      const Recipe recipe{type, Operation::kAvg, ranks, 5};
      for (size_t i = 0; i < kElements; ++i) {
        const double scale = decode(*type, encode(*type, 1.0 / ranks));
        uint64_t sum = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const double x = decode(*type, input_bits(recipe, rank, i));
          sum = combine(recipe, sum, encode(*type, x * scale));
        }
        const Expected expected = reduced_bits(recipe, i);
        ASSERT_TRUE(matches(*type, expected, sum))
            << type->name << " ranks " << ranks << " got " << format_value(*type, sum)
            << " expected " << format_value(*type, expected.bits) << " +- " << expected.bound;
      }
    }
  }
}

// A lost or doubled contribution of any rank must show in some element.
TEST(PerfPattern, EveryRankMatters) {
  for (const TypeInfo* type : every_type()) {
    for (Operation op : {Operation::kSum, Operation::kProd, Operation::kMax, Operation::kMin}) {
      const Recipe recipe{type, op, 8, 3};
      for (int lost = 0; lost < 8; ++lost) {
        size_t seen = 0;
        for (size_t i = 0; i < kElements; ++i) {
          const int first = lost == 0 ? 1 : 0;
          uint64_t result = input_bits(recipe, first, i);
          for (int rank = first + 1; rank < 8; ++rank) {
            if (rank != lost) result = combine(recipe, result, input_bits(recipe, rank, i));
          }
          if (!matches(*type, reduced_bits(recipe, i), result)) ++seen;
        }
        EXPECT_GT(seen, 10u) << type->name << " op " << static_cast<int>(op) << " rank " << lost;
      }
    }
  }
}

// How many elements rank 0 gives to both calls, and how many both results hold.
std::pair<size_t, size_t> alike(const Recipe& recipe, uint64_t call, uint64_t other) {
  size_t inputs = 0, results = 0;
  for (size_t i = 0; i < kElements; ++i) {
    const size_t a = input_start(call) + i, b = input_start(other) + i;
    inputs += input_bits(recipe, 0, a) == input_bits(recipe, 0, b);
    results += matches(*recipe.type, reduced_bits(recipe, a), reduced_bits(recipe, b).bits);
  }
  return {inputs, results};
}

TEST(PerfPattern, CheckedCallsHaveInputsOfTheirOwn) {
  for (const TypeInfo* type : every_type()) {
    const Recipe recipe{type, Operation::kSum, 2, 77};
    for (uint64_t call : {2, 3, 100}) {
      for (uint64_t before : {1, 2}) {
        const auto [inputs, results] = alike(recipe, call, call - before);
        EXPECT_LT(inputs, kElements / 4) << type->name << " call " << call << " and " << before;
        EXPECT_LT(results, kElements / 4) << type->name << " call " << call << " and " << before;
      }
    }
  }
}

// A message's part that lies as far from another as two calls' inputs would hide what is left of
// the earlier call. Slots alternate, so the calls one to four before matter.
TEST(PerfPattern, NoDistanceOfTwoCallsComesAgain) {
  for (uint64_t before : {1, 2, 3, 4}) {
    std::set<size_t> distances;
    for (uint64_t call = before; call < 5000; ++call) {
      distances.insert(input_start(call) - input_start(call - before));
    }
    EXPECT_EQ(distances.size(), 5000 - before);
  }
}

TEST(PerfPattern, ANanIsNeverRight) {
  const TypeInfo& type = type_info(ncclFloat32, false);
  EXPECT_FALSE(matches(type, {encode(type, 1), 0.5}, 0x7fc00000));
  EXPECT_TRUE(matches(type, {encode(type, 1), 0.5}, encode(type, 1.25)));
  EXPECT_FALSE(matches(type, {encode(type, 1), 0}, encode(type, 1.25)));
  EXPECT_TRUE(matches(type, {0, 0}, 0x80000000));  // the other zero
}

}  // namespace
}  // namespace weft::perf
