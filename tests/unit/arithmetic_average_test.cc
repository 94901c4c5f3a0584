// Averages and pre-multiplied sums as ranks compute them: in one fold (direct patterns) and in a
// chain that stores every partial sum in the element type (ring), for 1 to 9 ranks and a few more.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "arithmetic_reference.h"
#include "device/pack.h"

namespace weft {
namespace {

template <class Type>
using Storage = typename Type::storage;

// Rank r contributes inputs[r] under args[r]; contributions travel as stored elements.
template <class Type>
Storage<Type> reduce(const std::vector<Storage<Type>>& inputs, const std::vector<OpArg>& args,
                     Partials partials) {
  using Reduce = Reducer<Sum, Type>;
  typename Type::accumulator all{};
  for (size_t r = 0; r < inputs.size(); ++r) {
    const auto sent = Type::store(Reduce::pre(Type::load(inputs[r]), args[r]));
    all = r == 0 ? Type::load(sent) : Reduce::combine(all, Type::load(sent), args[r]);
    if (partials == Partials::kOnWire) all = Type::load(Type::store(all));
  }
  return Type::store(Reduce::post(all, args[0]));
}

template <class Type>
Storage<Type> average(const std::vector<Storage<Type>>& inputs, Partials partials) {
  const OpArg arg = average_arg<Type>(uint32_t(inputs.size()), partials);
  return reduce<Type>(inputs, std::vector<OpArg>(inputs.size(), arg), partials);
}

template <class Type>
uint32_t most_ranks_on_wire() {
  if (!Type::kIsFloat || sizeof(Storage<Type>) > 1) return 9;
  return reference::kFormatOf<Type>.mantissa_bits == 3 ? 4 : 2;
}

template <class Type>
class AverageTest : public testing::Test {};
using AveragedTypes = testing::Types<Int8, Uint8, Int32, Uint32, Int64, Uint64, Float16, Bfloat16,
                                     Float32, Float64, Fp8E4m3, Fp8E5m2, Fp8E4m3Fnuz, Fp8E5m2Fnuz>;
TYPED_TEST_SUITE(AverageTest, AveragedTypes);

// Small multiples of the rank count's share: sums and means fit every type.
TYPED_TEST(AverageTest, OfSmallNumbersIsExact) {
  for (uint32_t ranks = 1; ranks <= 9; ++ranks) {
    for (Partials partials : {Partials::kInAccumulator, Partials::kOnWire}) {
      // All ranks hold 3, or half of the ranks 2 and half 4.
      std::vector<Storage<TypeParam>> inputs(ranks, TypeParam::store(3));
      for (uint32_t r = 0; r + 1 < ranks && ranks % 2 == 0; r += 2) {
        inputs[r] = TypeParam::store(2);
        inputs[r + 1] = TypeParam::store(4);
      }
      // Partial sums up to 3 * ranks need more bits than fp8 has: 3 bits of e4m3 hold 12, 2 bits of
      // e5m2 hold 6.
      if (partials == Partials::kOnWire && ranks > most_ranks_on_wire<TypeParam>()) continue;
      const auto mean = TypeParam::load(average<TypeParam>(inputs, partials));
      if constexpr (std::is_same_v<TypeParam, Float32>) {
        EXPECT_FLOAT_EQ(mean, 3) << ranks;
      } else if constexpr (std::is_same_v<TypeParam, Float64>) {
        EXPECT_DOUBLE_EQ(mean, 3) << ranks;
      } else {
        EXPECT_EQ(mean, 3) << ranks;
      }
    }
  }
}

TYPED_TEST(AverageTest, OfOneRankIsTheInput) {
  for (int x : {0, 1, 7, 100}) {
    const auto stored = TypeParam::store(typename TypeParam::accumulator(x));
    EXPECT_EQ(average<TypeParam>({stored}, Partials::kOnWire), stored);
  }
}

// ---- Floats ----

template <class Type>
class NarrowAverageTest : public testing::Test {};
using NarrowFloats = testing::Types<Float16, Bfloat16, Fp8E4m3, Fp8E5m2, Fp8E4m3Fnuz, Fp8E5m2Fnuz>;
TYPED_TEST_SUITE(NarrowAverageTest, NarrowFloats);

TYPED_TEST(NarrowAverageTest, OfEqualInputsIsTheInput) {
  const auto& finite = reference::table<TypeParam>().finite();
  for (uint32_t ranks = 1; ranks <= 9; ++ranks) {
    for (uint32_t code = 0; code < finite.size(); ++code) {
      if (std::is_same_v<TypeParam, Bfloat16> && code < 16 * 128)
        continue;  // the pre-scale may lose bits of subnormals
      const std::vector<Storage<TypeParam>> inputs(ranks, Storage<TypeParam>(code));
      ASSERT_EQ((average<TypeParam>(inputs, Partials::kInAccumulator)), code) << ranks << " ranks";
    }
  }
}

// One fold: the stated formula, spelled out in other words. Doubles hold all of it but the two
// float roundings.
TYPED_TEST(NarrowAverageTest, OneFoldToTheBit) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto& table = reference::table<TypeParam>();
  const bool scales_first = std::is_same_v<TypeParam, Bfloat16>;
  for (uint32_t ranks = 1; ranks <= 9; ++ranks) {
    const int halvings = scales_first ? int(std::ceil(std::log2(ranks))) : 0;
    const float rest = float(std::ldexp(1.0, halvings) / ranks);
    for (int round = 0; round < 500; ++round) {
      std::vector<Storage<TypeParam>> inputs;
      float sum = 0;
      for (uint32_t r = 0; r < ranks; ++r) {
        // Away from the subnormals, so that halving is exact.
        const uint32_t code =
            uint32_t(table.finite().size() / 4 + random() % (table.finite().size() / 2));
        inputs.push_back(Storage<TypeParam>(code));
        const float scaled = float(std::ldexp(table.value(code), -halvings));
        sum = r == 0 ? scaled : sum + scaled;
      }
      const double want = table.rounded(sum * rest);
      ASSERT_EQ(table.value(average<TypeParam>(inputs, Partials::kInAccumulator)), want);
    }
  }
}

template <class Type>
void expect_no_overflow(typename Type::accumulator input) {
  for (uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 16u, 33u}) {
    for (Partials partials : {Partials::kInAccumulator, Partials::kOnWire}) {
      const std::vector<Storage<Type>> inputs(ranks, Type::store(input));
      const auto mean = Type::load(average<Type>(inputs, partials));
      EXPECT_TRUE(std::isfinite(mean)) << ranks << " ranks";
      EXPECT_GT(mean, input * 0.9) << ranks << " ranks";
    }
  }
}

// Wide floats: up to the rounding of the sum below the largest.
TEST(Average, OfTheLargestDoesNotOverflow) {
  expect_no_overflow<Float16>(65504);
  expect_no_overflow<Bfloat16>(Bfloat16::load(0x7f7f));
  expect_no_overflow<Float32>(std::numeric_limits<float>::max() * (1 - 0x1p-20f));
  expect_no_overflow<Float64>(std::numeric_limits<double>::max() * (1 - 0x1p-48));
}

// fp8 saturates between hops if it must, but sums in one fold do not.
TEST(Average, OfTheLargestFp8IsExactInOneFold) {
  const std::vector<uint8_t> inputs(7, Fp8E4m3::store(448));
  EXPECT_EQ(Fp8E4m3::load(average<Fp8E4m3>(inputs, Partials::kInAccumulator)), 448);
  EXPECT_EQ(Fp8E4m3::load(average<Fp8E4m3>(inputs, Partials::kOnWire)), 448);
}

TEST(Average, InfinityAndNanPass) {
  const auto inf = Float32::store(std::numeric_limits<float>::infinity());
  const auto nan = Float32::store(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(average<Float32>({inf, 1, 2}, Partials::kOnWire), inf);
  EXPECT_TRUE(std::isnan(average<Float32>({1, nan, 2}, Partials::kOnWire)));
  EXPECT_TRUE(std::isnan(average<Float32>({inf, -inf}, Partials::kOnWire)));
}

// ---- Integers ----

template <class Type>
void expect_division(Storage<Type> x, uint32_t ranks) {
  __extension__ using Wide = __int128;
  const auto got = Reducer<Sum, Type>::post(x, average_arg<Type>(ranks));
  ASSERT_EQ(got, Storage<Type>(Wide(x) / Wide(ranks))) << int64_t(x) << " / " << ranks;
}

template <class Type>
void expect_divisions() {
  std::mt19937_64 random(11);  // fixed: edges carry the test
  const auto top = std::numeric_limits<Storage<Type>>::max();
  const auto bottom = std::numeric_limits<Storage<Type>>::min();
  std::vector<uint32_t> ranks{16, 255, 256, 257, 1000, 65535, 65536, 1u << 20, 0x7fffffff};
  for (uint32_t r = 1; r <= 9; ++r) ranks.push_back(r);
  for (uint32_t r : ranks) {
    for (int i = 0; i < 300; ++i) {
      expect_division<Type>(Storage<Type>(random()), r);
      expect_division<Type>(Storage<Type>(top - Storage<Type>(i % 120)), r);
      expect_division<Type>(Storage<Type>(bottom + Storage<Type>(i % 120)), r);
      expect_division<Type>(Storage<Type>(uint64_t(r) * uint64_t(i % 120)), r);
    }
  }
}

TEST(IntegerAverage, RoundsTowardZero) {
  for (int x = 0; x < 256; ++x) {
    for (uint32_t ranks = 1; ranks <= 300; ++ranks) {
      expect_division<Int8>(int8_t(x), ranks);
      expect_division<Uint8>(uint8_t(x), ranks);
    }
  }
  expect_divisions<Int32>();
  expect_divisions<Uint32>();
  expect_divisions<Int64>();
  expect_divisions<Uint64>();
}

TEST(IntegerAverage, DividesTheWrappedSum) {
  EXPECT_EQ((average<Int8>({100, 100}, Partials::kOnWire)), -28);  // 200 wraps to -56
  EXPECT_EQ((average<Uint8>({200, 100}, Partials::kOnWire)), 22);  // 300 wraps to 44
  EXPECT_EQ((average<Int32>({-7, 0}, Partials::kOnWire)), -3);
}

// ---- Pre-multiplied sums ----

template <class Type>
class PreMultiplyTest : public testing::Test {};
TYPED_TEST_SUITE(PreMultiplyTest, NarrowFloats);

TYPED_TEST(PreMultiplyTest, SmallScalarsAreExact) {
  for (float scalar : {0.5f, 0.25f, 2.0f, 3.0f, -1.0f, 0.0f}) {
    if (scalar == 3 && reference::kFormatOf<TypeParam>.mantissa_bits < 3)
      continue;  // 9 does not fit
    const OpArg arg = pre_multiply_arg<TypeParam>(scalar);
    for (Partials partials : {Partials::kInAccumulator, Partials::kOnWire}) {
      const auto got =
          reduce<TypeParam>({TypeParam::store(1), TypeParam::store(2)}, {arg, arg}, partials);
      EXPECT_EQ(TypeParam::load(got), scalar * 3);
    }
  }
}

TYPED_TEST(PreMultiplyTest, EachProductIsRoundedToTheType) {
  const auto& table = reference::table<TypeParam>();
  const OpArg arg = pre_multiply_arg<TypeParam>(1 / 3.0f);
  for (uint32_t code = 0; code < table.finite().size(); ++code) {
    const float x = TypeParam::load(Storage<TypeParam>(code));
    const float got = Reducer<Sum, TypeParam>::pre(x, arg);
    ASSERT_EQ(got, table.rounded(x * (1 / 3.0f)));
  }
}

TEST(PreMultiply, ScalarsMayDifferBetweenRanks) {
  const std::vector<OpArg> args{pre_multiply_arg<Float32>(2), pre_multiply_arg<Float32>(-1)};
  EXPECT_EQ(reduce<Float32>({5, 3}, args, Partials::kInAccumulator), 7);
}

TEST(PreMultiply, IntegersWrap) {
  const OpArg arg = pre_multiply_arg<Int8>(100);
  EXPECT_EQ(reduce<Int8>({3, 1}, {arg, arg}, Partials::kInAccumulator), int8_t(400));
  const OpArg wide = pre_multiply_arg<Int64>(int64_t(1) << 62);
  EXPECT_EQ(reduce<Int64>({3, 1}, {wide, wide}, Partials::kInAccumulator), 0);
}

// A product fused into the sum that follows would not be rounded, and a rank's own contribution
// would differ from what its peers see. Fails when built with contraction for a machine that has
// fused multiply-add.
TEST(PreMultiply, IsNotFusedIntoTheSum) {
  volatile float x = 1 + 0x1p-23f, scalar = x, other = -(1 + 0x1p-22f);
  const OpArg arg = pre_multiply_arg<Float32>(scalar);
  EXPECT_EQ((Reducer<Sum, Float32>::combine(Reducer<Sum, Float32>::pre(x, arg), other, arg)), 0);
}

}  // namespace
}  // namespace weft
