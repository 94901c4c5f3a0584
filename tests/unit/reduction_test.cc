// Every type with every operation: which kernel runs and with which scales.
#include "reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "architecture.h"
#include "request.h"

namespace weft {
namespace {

enum class Kind { kSigned, kUnsigned, kFloat, kDouble };
struct Row {
  ncclDataType_t type;
  ElementType element, fnuz_element;
  Kind kind;
  uint32_t bits = 0;  // of an integer, as it is divided
};
const Row kRows[] = {
    {ncclInt8, ElementType::kInt8, ElementType::kInt8, Kind::kSigned, 16},
    {ncclUint8, ElementType::kInt8, ElementType::kInt8, Kind::kUnsigned, 16},
    {ncclInt32, ElementType::kInt32, ElementType::kInt32, Kind::kSigned, 32},
    {ncclUint32, ElementType::kInt32, ElementType::kInt32, Kind::kUnsigned, 32},
    {ncclInt64, ElementType::kInt64, ElementType::kInt64, Kind::kSigned, 64},
    {ncclUint64, ElementType::kInt64, ElementType::kInt64, Kind::kUnsigned, 64},
    {ncclFloat16, ElementType::kFloat16, ElementType::kFloat16, Kind::kFloat},
    {ncclFloat32, ElementType::kFloat32, ElementType::kFloat32, Kind::kFloat},
    {ncclFloat64, ElementType::kFloat64, ElementType::kFloat64, Kind::kDouble},
    {ncclBfloat16, ElementType::kBfloat16, ElementType::kBfloat16, Kind::kFloat},
    {ncclFloat8e4m3, ElementType::kFp8E4m3, ElementType::kFp8E4m3Fnuz, Kind::kFloat},
    {ncclFloat8e5m2, ElementType::kFp8E5m2, ElementType::kFp8E5m2Fnuz, Kind::kFloat},
};
static_assert(std::size(kRows) == ncclNumTypes);

template <class Body>
void for_every_reduction(Body body) {
  for (const Row& row : kRows)
    for (int op = 0; op < ncclNumOps; ++op)
      for (const bool fnuz : {false, true}) {
        SCOPED_TRACE(testing::Message() << type_name(row.type) << " " << op_name(ncclRedOp_t(op))
                                        << (fnuz ? " fnuz" : ""));
        body(row, ncclRedOp_t(op), fnuz);
      }
}

TEST(Reduction, EveryTypeAndOpHasItsKernel) {
  for_every_reduction([](const Row& row, ncclRedOp_t op, bool fnuz) {
    const Reduction reduction = make_reduction(row.type, op, 4, fnuz);
    EXPECT_EQ(reduction.element, fnuz ? row.fnuz_element : row.element);
    const OpBody body = op == ncclProd                   ? OpBody::kProd
                        : op == ncclMin || op == ncclMax ? OpBody::kMinMax
                                                         : OpBody::kSum;
    EXPECT_EQ(reduction.body, body);
    // A platform without FNUZ devices has no kernels for them.
    const bool exists = reduction.element == row.element || platform::kHasFnuz;
    EXPECT_EQ(kernel_of(Protocol::kSimple, reduction.element, reduction.body) != nullptr, exists);
  });
}

// No two (element, body) pairs run the same kernel.
TEST(Reduction, KernelsDiffer) {
  std::set<const void*> kernels;
  size_t count = 0;
  for (int element = 0; element < kElementTypeCount; ++element)
    for (int body = 0; body < kOpBodyCount; ++body) {
      const void* kernel = kernel_of(Protocol::kSimple, ElementType(element), OpBody(body));
      if (kernel == nullptr) continue;
      kernels.insert(kernel);
      ++count;
    }
  EXPECT_EQ(kernels.size(), count);
  EXPECT_GE(count, size_t(kElementTypeCount - 2) * kOpBodyCount);  // FNUZ may be absent
}

TEST(Reduction, SignAndDirection) {
  for_every_reduction([](const Row& row, ncclRedOp_t op, bool fnuz) {
    const uint32_t flags = make_reduction(row.type, op, 4, fnuz).arg.flags;
    EXPECT_EQ((flags & OpArg::kSigned) != 0, row.kind == Kind::kSigned);
    EXPECT_EQ((flags & OpArg::kMax) != 0, op == ncclMax);
    EXPECT_EQ((flags & OpArg::kPostScale) != 0, op == ncclAvg);
    if (op != ncclAvg) {
      EXPECT_EQ(flags & OpArg::kPreScale, 0u);
    }
  });
}

template <class Accumulator>
void expect_scales(const OpArg& arg, int ranks) {
  const Accumulator pre =
      arg.flags & OpArg::kPreScale ? from_word<Accumulator>(arg.pre) : Accumulator(1);
  int exponent = 0;
  EXPECT_EQ(std::frexp(pre, &exponent), Accumulator(0.5)) << pre;  // a power of two is exact
  EXPECT_LE(pre * Accumulator(ranks), 1) << "a sum of scaled inputs may leave the range";
  // One rounding of the quotient.
  EXPECT_NEAR(double(pre) * double(from_word<Accumulator>(arg.post)) * ranks, 1,
              std::numeric_limits<Accumulator>::epsilon());
}

TEST(Reduction, AveragesOfFloats) {
  for (const Row& row : kRows)
    for (const int ranks : {1, 2, 3, 7, 8, 9, 64, 1000, 65536})
      for (const bool fnuz : {false, true}) {
        SCOPED_TRACE(testing::Message() << type_name(row.type) << ", ranks " << ranks);
        const OpArg arg = make_reduction(row.type, ncclAvg, ranks, fnuz).arg;
        if (row.kind == Kind::kFloat) expect_scales<float>(arg, ranks);
        if (row.kind == Kind::kDouble) expect_scales<double>(arg, ranks);
      }
}

TEST(Reduction, AveragesOfIntegers) {
  for (const Row& row : kRows) {
    if (row.bits == 0) continue;
    for (const uint32_t ranks : {1u, 2u, 3u, 7u, 64u, 1000u}) {
      SCOPED_TRACE(testing::Message() << type_name(row.type) << ", ranks " << ranks);
      const OpArg arg = make_reduction(row.type, ncclAvg, int(ranks), false).arg;
      EXPECT_EQ(arg.divisor, ranks);
      EXPECT_EQ(arg.flags & OpArg::kPreScale, 0u);
      const uint64_t largest = row.bits == 64 ? UINT64_MAX : (uint64_t(1) << row.bits) - 1;
      EXPECT_EQ(arg.post, largest / ranks);
    }
  }
}

}  // namespace
}  // namespace weft
