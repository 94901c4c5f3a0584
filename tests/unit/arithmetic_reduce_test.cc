// Sum, product, min and max of one element: wrapping, NaN, infinities, zeros, and when results are
// rounded.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "arithmetic_reference.h"
#include "device/pack.h"

namespace weft {
namespace {

// ---- Integers ----

template <class Type>
class IntegerTest : public testing::Test {
 protected:
  using Value = typename Type::storage;
  using Unsigned = std::make_unsigned_t<Value>;
  __extension__ using Wide = __int128;

  // Edges, small numbers, and random ones.
  static std::vector<Value> values() {
    std::vector<Value> all;
    if (sizeof(Value) == 1) {
      for (int i = 0; i < 256; ++i) all.push_back(Value(i));
      return all;
    }
    const Unsigned top = Unsigned(Unsigned(1) << (sizeof(Value) * 8 - 1));
    for (Unsigned base : {Unsigned(0), top, Unsigned(top >> 1)}) {
      for (int i = -3; i <= 3; ++i) all.push_back(Value(base + Unsigned(i)));
    }
    std::mt19937_64 random(7);  // fixed: the edges above carry the test
    for (int i = 0; i < 100; ++i) all.push_back(Value(random()));
    return all;
  }
};

using Integers = testing::Types<Int8, Uint8, Int32, Uint32, Int64, Uint64>;
TYPED_TEST_SUITE(IntegerTest, Integers);

TYPED_TEST(IntegerTest, SumAndProductWrap) {
  using Value = typename TestFixture::Value;
  __extension__ using Wide = unsigned __int128;
  const OpArg arg = plain_arg<TypeParam>();
  for (Value a : this->values()) {
    for (Value b : this->values()) {
      ASSERT_EQ((Reducer<Sum, TypeParam>::combine(a, b, arg)), Value(Wide(a) + Wide(b)));
      ASSERT_EQ((Reducer<Prod, TypeParam>::combine(a, b, arg)), Value(Wide(a) * Wide(b)));
    }
  }
}

TYPED_TEST(IntegerTest, MinAndMax) {
  using Value = typename TestFixture::Value;
  for (Value a : this->values()) {
    for (Value b : this->values()) {
      ASSERT_EQ((Reducer<MinMax, TypeParam>::combine(a, b, min_max_arg<TypeParam>(false))),
                std::min(a, b));
      ASSERT_EQ((Reducer<MinMax, TypeParam>::combine(a, b, min_max_arg<TypeParam>(true))),
                std::max(a, b));
    }
  }
}

// A kernel made for unsigned elements serves signed ones: the argument carries the sign.
template <class Signed, class Unsigned>
void expect_one_kernel_serves_both() {
  using S = typename Signed::storage;
  using U = typename Unsigned::storage;
  const std::vector<int64_t> values{
      0, 1, -1, 5, -7, 100, std::numeric_limits<S>::max(), std::numeric_limits<S>::min()};
  for (int64_t wide_a : values) {
    for (int64_t wide_b : values) {
      const S a = S(wide_a), b = S(wide_b);
      for (bool max : {false, true}) {
        const OpArg arg = min_max_arg<Signed>(max);
        EXPECT_EQ(S(Reducer<MinMax, Unsigned>::combine(U(a), U(b), arg)),
                  max ? std::max(a, b) : std::min(a, b));
      }
    }
    const OpArg arg = average_arg<Signed>(3);
    EXPECT_EQ(S(Reducer<Sum, Unsigned>::post(U(S(wide_a)), arg)), S(S(wide_a) / 3));
  }
}

TEST(Integer, UnsignedKernelsServeSigned) {
  expect_one_kernel_serves_both<Int8, Uint8>();
  expect_one_kernel_serves_both<Int32, Uint32>();
  expect_one_kernel_serves_both<Int64, Uint64>();
}

// ---- Floats ----

template <class Type>
class FloatTest : public testing::Test {
 protected:
  using Accumulator = typename Type::accumulator;
  using Bits = std::conditional_t<sizeof(Accumulator) == 4, uint32_t, uint64_t>;

  static Accumulator smallest(Accumulator a, Accumulator b) {
    return Reducer<MinMax, Type>::combine(a, b, min_max_arg<Type>(false));
  }
  static Accumulator largest(Accumulator a, Accumulator b) {
    return Reducer<MinMax, Type>::combine(a, b, min_max_arg<Type>(true));
  }
  static Bits bits(Accumulator x) { return bits_as<Bits>(x); }

  static constexpr Accumulator kInf = std::numeric_limits<Accumulator>::infinity();
  static constexpr Accumulator kNan = std::numeric_limits<Accumulator>::quiet_NaN();
};

using Floats =
    testing::Types<Float16, Bfloat16, Float32, Float64, Fp8E4m3, Fp8E5m2, Fp8E4m3Fnuz, Fp8E5m2Fnuz>;
TYPED_TEST_SUITE(FloatTest, Floats);

TYPED_TEST(FloatTest, MinAndMaxOfNumbers) {
  using Accumulator = typename TestFixture::Accumulator;
  const std::vector<Accumulator> ordered{-this->kInf, -240, -1.5, -1,  -0.25,     0,
                                         0.25,        1,    1.5,  240, this->kInf};
  for (Accumulator a : ordered) {
    for (Accumulator b : ordered) {
      EXPECT_EQ(this->smallest(a, b), std::min(a, b));
      EXPECT_EQ(this->largest(a, b), std::max(a, b));
    }
  }
}

TYPED_TEST(FloatTest, ANumberWinsAgainstNan) {
  using Accumulator = typename TestFixture::Accumulator;
  const Accumulator signaling = std::numeric_limits<Accumulator>::signaling_NaN();
  for (Accumulator nan : {this->kNan, -this->kNan, signaling}) {
    for (Accumulator number :
         {Accumulator(-1), Accumulator(0), Accumulator(3), this->kInf, -this->kInf}) {
      EXPECT_EQ(this->smallest(nan, number), number);
      EXPECT_EQ(this->smallest(number, nan), number);
      EXPECT_EQ(this->largest(nan, number), number);
      EXPECT_EQ(this->largest(number, nan), number);
    }
    EXPECT_TRUE(std::isnan(this->smallest(nan, nan)));
    EXPECT_TRUE(std::isnan(this->largest(nan, nan)));
  }
}

TYPED_TEST(FloatTest, MinusZeroIsBelowZero) {
  using Accumulator = typename TestFixture::Accumulator;
  const Accumulator plus = 0, minus = -plus;
  for (auto [a, b] : {std::pair(plus, minus), std::pair(minus, plus)}) {
    EXPECT_EQ(this->bits(this->smallest(a, b)), this->bits(minus));
    EXPECT_EQ(this->bits(this->largest(a, b)), this->bits(plus));
  }
  EXPECT_EQ(this->bits(this->largest(minus, minus)), this->bits(minus));
}

TYPED_TEST(FloatTest, SumAndProductFollowIeee) {
  using Reduce = Reducer<Sum, TypeParam>;
  using Multiply = Reducer<Prod, TypeParam>;
  const OpArg arg = plain_arg<TypeParam>();
  EXPECT_EQ(Reduce::combine(1.5, 0.25, arg), 1.75);
  EXPECT_EQ(Multiply::combine(1.5, -0.5, arg), -0.75);
  EXPECT_TRUE(std::isnan(Reduce::combine(this->kNan, 1, arg)));
  EXPECT_TRUE(std::isnan(Reduce::combine(this->kInf, -this->kInf, arg)));
  EXPECT_TRUE(std::isnan(Multiply::combine(this->kInf, 0, arg)));
  EXPECT_EQ(Reduce::combine(this->kInf, 1, arg), this->kInf);
  EXPECT_FALSE(std::signbit(Reduce::combine(0, -typename TestFixture::Accumulator(0), arg)));
}

// ---- Rounding points ----

template <class Type>
typename Type::storage fold(const std::vector<float>& inputs, bool round_each_step) {
  Partial<Type> all{};
  for (size_t i = 0; i < inputs.size(); ++i) {
    Partial<Type> next{};
    next.value[0] = Type::load(Type::store(inputs[i]));
    all = i == 0 ? next : combine<Sum>(all, next, plain_arg<Type>());
    if (round_each_step) all = unpack(repack(all));
  }
  return bits_as<Elements<Type>>(repack(all).bytes).elem[0];
}

TYPED_TEST(FloatTest, NarrowTypesRoundOnceAFold) {
  if constexpr (std::is_base_of_v<NarrowFloat, TypeParam>) {
    // 1 and eight quarters of the step above 1: the sum is two steps up; one by one each is rounded
    // away.
    const auto& finite = reference::table<TypeParam>().finite();
    const auto next = std::upper_bound(finite.begin(), finite.end(), 1.0);
    const float step = float(*next - 1);
    std::vector<float> inputs(9, step / 4);
    inputs[0] = 1;
    EXPECT_EQ(TypeParam::load(fold<TypeParam>(inputs, false)), 1 + 2 * step);
    EXPECT_EQ(TypeParam::load(fold<TypeParam>(inputs, true)), 1);
  }
}

TEST(Float, Fp8SumsSaturateAndKeepInfinity) {
  EXPECT_EQ(Fp8E4m3::load(fold<Fp8E4m3>({448, 448}, false)), 448);
  EXPECT_EQ(Fp8E4m3::load(fold<Fp8E4m3>({-448, -448, 64}, false)), -448);
  EXPECT_EQ(Fp8E4m3::load(fold<Fp8E4m3>({448, 448, -448}, false)),
            448);  // no saturation inside a fold
  EXPECT_EQ(Fp8E4m3::load(fold<Fp8E4m3>({448, 448, -448}, true)), 0);  // between hops there is
  EXPECT_EQ(Fp8E5m2::load(fold<Fp8E5m2>({57344, 57344}, false)), 57344);
  EXPECT_EQ(Fp8E5m2::load(fold<Fp8E5m2>({std::numeric_limits<float>::infinity(), 1}, false)),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ(Float16::load(fold<Float16>({65504, 65504}, false)),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ(Float16::load(fold<Float16>({65504, 65504, -65504}, false)), 65504);
}

// A pack gives what its elements give one by one, for every operation.
TYPED_TEST(FloatTest, PacksCombineLikeElements) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const OpArg plain = plain_arg<TypeParam>(), max = min_max_arg<TypeParam>(true),
              min = min_max_arg<TypeParam>(false);
  const auto draw = [&] {
    Elements<TypeParam> all;
    for (auto& x : all.elem)
      x = TypeParam::store(typename TypeParam::accumulator(int(random() % 64)) / 4 - 8);
    return all;
  };
  const auto pack = [](const Elements<TypeParam>& all) {
    return Pack<TypeParam>{bits_as<platform::Bytes16>(all)};
  };
  for (int round = 0; round < 200; ++round) {
    const auto a = draw(), b = draw();
    const auto each = [&]<class Op>(Op, const OpArg& arg) {
      const auto got = bits_as<Elements<TypeParam>>(combine<Op>(pack(a), pack(b), arg).bytes);
      for (int i = 0; i < Pack<TypeParam>::kElems; ++i) {
        const auto x = TypeParam::load(a.elem[i]), y = TypeParam::load(b.elem[i]);
        ASSERT_EQ(got.elem[i], TypeParam::store(Reducer<Op, TypeParam>::combine(x, y, arg)));
      }
    };
    each(Sum{}, plain);
    each(Prod{}, plain);
    each(MinMax{}, max);
    each(MinMax{}, min);
  }
}

}  // namespace
}  // namespace weft
