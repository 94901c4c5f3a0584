// Every code of every narrow float, and the floats around every rounding boundary, against a table
// made from the definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "arithmetic_reference.h"
#include "device/pack.h"

namespace weft {
namespace {

// Equal as values, and in the sign of zero; any NaN equals any other.
testing::AssertionResult same(double got, double want) {
  if (std::isnan(got) && std::isnan(want)) return testing::AssertionSuccess();
  if (got == want && std::signbit(got) == std::signbit(want)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "got " << got << ", want " << want;
}

template <class Type>
class NarrowFloatTest : public testing::Test {
 protected:
  const reference::Table& table_ = reference::table<Type>();

  double stored(float x) const { return table_.value(Type::store(x)); }

  void expect_rounded(float x) const {
    ASSERT_TRUE(same(stored(x), table_.rounded(x))) << "storing " << std::hexfloat << x;
    ASSERT_TRUE(same(stored(-x), table_.rounded(-x))) << "storing " << std::hexfloat << -x;
  }

  void expect_rounded_around(double x) const {
    const float middle = float(x);
    expect_rounded(middle);
    expect_rounded(std::nextafter(middle, 0.0f));
    expect_rounded(std::nextafter(middle, std::numeric_limits<float>::infinity()));
  }
};

using NarrowFloats = testing::Types<Float16, Bfloat16, Fp8E4m3, Fp8E5m2, Fp8E4m3Fnuz, Fp8E5m2Fnuz>;
TYPED_TEST_SUITE(NarrowFloatTest, NarrowFloats);

TYPED_TEST(NarrowFloatTest, LoadsEveryCode) {
  for (uint32_t code = 0; code < this->table_.codes(); ++code) {
    ASSERT_TRUE(same(TypeParam::load(typename TypeParam::storage(code)), this->table_.value(code)))
        << "code " << code;
  }
}

TYPED_TEST(NarrowFloatTest, StoresEveryValueAsItsCode) {
  for (uint32_t code = 0; code < this->table_.codes(); ++code) {
    const double value = this->table_.value(code);
    if (std::isnan(value)) continue;
    ASSERT_EQ(TypeParam::store(float(value)), code);
  }
}

TYPED_TEST(NarrowFloatTest, RoundsToNearestEvenAroundEveryBoundary) {
  const auto& finite = this->table_.finite();
  for (size_t i = 0; i + 1 < finite.size(); ++i) {
    this->expect_rounded_around(finite[i]);
    this->expect_rounded_around((finite[i] + finite[i + 1]) / 2);
  }
}

TYPED_TEST(NarrowFloatTest, OverflowAndSpecials) {
  const double largest = this->table_.largest();
  this->expect_rounded_around(largest);
  this->expect_rounded_around((largest + this->table_.beyond()) / 2);
  if (this->table_.beyond() < double(std::numeric_limits<float>::max()))
    this->expect_rounded_around(this->table_.beyond());
  this->expect_rounded(1e30f);
  this->expect_rounded(std::numeric_limits<float>::max());
  this->expect_rounded(std::numeric_limits<float>::infinity());
  this->expect_rounded(std::numeric_limits<float>::quiet_NaN());
  this->expect_rounded(std::numeric_limits<float>::signaling_NaN());
  this->expect_rounded(bits_as<float>(0x7f800001u));  // a NaN whose upper half is infinity's
  this->expect_rounded(std::numeric_limits<float>::denorm_min());
  this->expect_rounded(0.0f);
}

TYPED_TEST(NarrowFloatTest, RoundsRandomFloats) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 300'000; ++i) this->expect_rounded(bits_as<float>(uint32_t(random())));
}

// The codec that the pack uses (vectors on the host) and the one for single elements are one text;
// both are run.
TYPED_TEST(NarrowFloatTest, PacksConvertLikeElements) {
  using Storage = typename TypeParam::storage;
  constexpr int kElems = Pack<TypeParam>::kElems;
  for (uint32_t code = 0; code < this->table_.codes(); code += kElems) {
    Elements<TypeParam> codes;
    for (int i = 0; i < kElems; ++i) codes.elem[i] = Storage(code + uint32_t(i));
    const Pack<TypeParam> pack{bits_as<platform::Bytes16>(codes)};
    const auto back = bits_as<Elements<TypeParam>>(repack(unpack(pack)).bytes);
    // Thirds do not fit: they show rounding.
    Partial<TypeParam> thirds = unpack(pack);
    for (float& x : thirds.value) x *= 1 / 3.0f;
    const auto rounded = bits_as<Elements<TypeParam>>(repack(thirds).bytes);
    for (int i = 0; i < kElems; ++i) {
      const float x = float(this->table_.value(codes.elem[i]));
      ASSERT_TRUE(same(this->table_.value(back.elem[i]), x));
      ASSERT_TRUE(same(this->table_.value(rounded.elem[i]), this->table_.rounded(x * (1 / 3.0f))));
    }
  }
}

TEST(NarrowFloat, KnownCodes) {
  EXPECT_EQ(Fp8E4m3::load(0x7e), 448);
  EXPECT_EQ(Fp8E5m2::load(0x7b), 57344);
  EXPECT_EQ(Fp8E4m3Fnuz::load(0x7f), 240);
  EXPECT_EQ(Fp8E5m2Fnuz::load(0x7f), 57344);
  EXPECT_EQ(Fp8E4m3::load(0x38), 1);
  EXPECT_EQ(Fp8E4m3Fnuz::load(0x40), 1);
  EXPECT_EQ(Float16::store(65519.0f), 0x7bff);
  EXPECT_EQ(Float16::store(65520.0f), 0x7c00);
  EXPECT_EQ(Fp8E4m3::store(1e9f), 0x7e);
  EXPECT_EQ(Fp8E4m3::store(-std::numeric_limits<float>::infinity()), 0xff);
  EXPECT_EQ(Fp8E5m2::store(-std::numeric_limits<float>::infinity()), 0xfc);
  EXPECT_EQ(Fp8E4m3Fnuz::store(-std::numeric_limits<float>::infinity()), 0x80);
  EXPECT_EQ(Fp8E4m3Fnuz::store(-0.0f), 0);
}

#ifdef __FLT16_MANT_DIG__
// The compiler's own half, where it has one.
TEST(NarrowFloat, HalfIsTheCompilersHalf) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    ASSERT_TRUE(same(Float16::load(uint16_t(code)), float(bits_as<_Float16>(uint16_t(code)))));
  }
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 300'000; ++i) {
    const float x = bits_as<float>(uint32_t(random()));
    ASSERT_TRUE(same(Float16::load(Float16::store(x)), float(_Float16(x)))) << std::hexfloat << x;
  }
}
#endif

}  // namespace
}  // namespace weft
