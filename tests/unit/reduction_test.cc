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

ReductionKey key_of(ncclDataType_t type, ncclRedOp_t op, int ranks, bool fnuz) {
  return {.type = type, .op = op, .user = nullptr, .ranks = ranks, .fnuz = fnuz};
}

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
    const Reduction reduction = make_reduction(key_of(row.type, op, 4, fnuz));
    EXPECT_EQ(reduction.element, fnuz ? row.fnuz_element : row.element);
    EXPECT_EQ(is_sum(reduction.arg), op == ncclSum || op == ncclAvg);
    // A platform without FNUZ devices has no kernels for them.
    const bool exists = reduction.element == row.element || platform::kHasFnuz;
    EXPECT_EQ(kernel_of(Protocol::kSimple, reduction.element) != nullptr, exists);
  });
}

// No two (protocol, element) pairs run the same kernel.
TEST(Reduction, KernelsDiffer) {
  std::set<const void*> kernels;
  size_t count = 0;
  for (int element = 0; element < kElementTypeCount; ++element)
    for (int protocol = 0; protocol < kProtocolCount; ++protocol) {
      const void* kernel = kernel_of(Protocol(protocol), ElementType(element));
      if (kernel == nullptr) continue;
      kernels.insert(kernel);
      ++count;
    }
  for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128}) {
    if (one_hop_copy_of(protocol) != nullptr) {
      kernels.insert(one_hop_copy_of(protocol));
      ++count;
    }
    for (int element = 0; element < kElementTypeCount; ++element)
      if (const void* kernel = one_hop_sum_of(protocol, ElementType(element)); kernel != nullptr) {
        kernels.insert(kernel);
        ++count;
      }
  }
  EXPECT_EQ(kernels.size(), count);
  EXPECT_GE(count, size_t(kElementTypeCount - 2) * kProtocolCount);  // FNUZ may be absent
}

TEST(Reduction, SignAndDirection) {
  for_every_reduction([](const Row& row, ncclRedOp_t op, bool fnuz) {
    const uint32_t flags = make_reduction(key_of(row.type, op, 4, fnuz)).arg.flags;
    EXPECT_EQ((flags & OpArg::kSigned) != 0, row.kind == Kind::kSigned);
    EXPECT_EQ((flags & OpArg::kMax) != 0, op == ncclMax);
    EXPECT_EQ((flags & OpArg::kMin) != 0, op == ncclMin);
    EXPECT_EQ((flags & OpArg::kProduct) != 0, op == ncclProd);
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
        const OpArg arg = make_reduction(key_of(row.type, ncclAvg, ranks, fnuz)).arg;
        if (row.kind == Kind::kFloat) expect_scales<float>(arg, ranks);
        if (row.kind == Kind::kDouble) expect_scales<double>(arg, ranks);
      }
}

TEST(Reduction, AveragesOfIntegers) {
  for (const Row& row : kRows) {
    if (row.bits == 0) continue;
    for (const uint32_t ranks : {1u, 2u, 3u, 7u, 64u, 1000u}) {
      SCOPED_TRACE(testing::Message() << type_name(row.type) << ", ranks " << ranks);
      const OpArg arg = make_reduction(key_of(row.type, ncclAvg, int(ranks), false)).arg;
      EXPECT_EQ(arg.divisor, ranks);
      EXPECT_EQ(arg.flags & OpArg::kPreScale, 0u);
      const uint64_t largest = row.bits == 64 ? UINT64_MAX : (uint64_t(1) << row.bits) - 1;
      EXPECT_EQ(arg.post, largest / ranks);
    }
  }
}

// In one fold narrow floats but bfloat16 have room: inputs are not scaled first.
TEST(Reduction, AveragesOfOneFold) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(type_name(row.type));
    ReductionKey key = key_of(row.type, ncclAvg, 6, false);
    const OpArg on_wire = make_reduction(key).arg;
    key.partials = Partials::kInAccumulator;
    const OpArg in_accumulator = make_reduction(key).arg;
    const bool has_room =
        row.kind == Kind::kFloat && row.type != ncclFloat32 && row.type != ncclBfloat16;
    EXPECT_EQ(in_accumulator.flags & OpArg::kPreScale, has_room ? 0u : on_wire.flags & 1u);
    EXPECT_EQ(in_accumulator.post, has_room ? to_word(1.0f / 6) : on_wire.post);
  }
}

// The scalar 2.5 (integers: -2 as bits) of every type, and what the kernel multiplies by.
struct ScalarRow {
  ncclDataType_t type;
  uint64_t bits;
  uint64_t word;
  uint64_t fnuz_bits;
};
const ScalarRow kScalars[] = {
    {ncclInt8, 0xfe, 0xfe, 0xfe},
    {ncclUint8, 0xfe, 0xfe, 0xfe},
    {ncclInt32, 0xfffffffe, 0xfffffffe, 0xfffffffe},
    {ncclUint32, 0xfffffffe, 0xfffffffe, 0xfffffffe},
    {ncclInt64, uint64_t(-2), uint64_t(-2), uint64_t(-2)},
    {ncclUint64, uint64_t(-2), uint64_t(-2), uint64_t(-2)},
    {ncclFloat16, 0x4100, 0x40200000, 0x4100},
    {ncclFloat32, 0x40200000, 0x40200000, 0x40200000},
    {ncclFloat64, 0x4004000000000000, 0x4004000000000000, 0x4004000000000000},
    {ncclBfloat16, 0x4020, 0x40200000, 0x4020},
    {ncclFloat8e4m3, 0x42, 0x40200000, 0x4a},
    {ncclFloat8e5m2, 0x41, 0x40200000, 0x45},
};

TEST(Reduction, ScalarsOfTheProgram) {
  ASSERT_EQ(std::size(kScalars), size_t(ncclNumTypes));
  for (const ScalarRow& row : kScalars)
    for (const bool fnuz : {false, true}) {
      SCOPED_TRACE(testing::Message() << type_name(row.type) << (fnuz ? " fnuz" : ""));
      // Bytes beyond the element are not looked at.
      const size_t bytes = type_bytes(row.type);
      const uint64_t beyond = bytes == 8 ? 0 : uint64_t(0x5a5a5a5a5a5a5a5a) << (8 * bytes);
      const UserOp op{row.type, false, (fnuz ? row.fnuz_bits : row.bits) | beyond};
      ReductionKey key = key_of(row.type, ncclRedOp_t(77), 4, fnuz);
      key.user = &op;
      const Reduction reduction = make_reduction(key);
      EXPECT_TRUE(is_sum(reduction.arg));
      EXPECT_EQ(reduction.element, make_reduction(key_of(row.type, ncclSum, 4, fnuz)).element);
      EXPECT_EQ(reduction.arg.pre, row.word);
      EXPECT_EQ(reduction.arg.flags & ~OpArg::kSigned, uint32_t(OpArg::kPreScale));
    }
}

TEST(Reduction, ScalarsInMemoryAreAddresses) {
  for (const Row& row : kRows) {
    const UserOp op{row.type, true, 0x7f1234567890};
    ReductionKey key = key_of(row.type, ncclRedOp_t(77), 4, false);
    key.user = &op;
    const OpArg arg = make_reduction(key).arg;
    EXPECT_EQ(arg.pre, op.scalar);
    EXPECT_EQ(arg.flags & ~OpArg::kSigned, OpArg::kPreScale | OpArg::kPreFromMemory);
    EXPECT_EQ((arg.flags & OpArg::kSigned) != 0, row.kind == Kind::kSigned);
  }
}

}  // namespace
}  // namespace weft
