// Names and sizes of types and operations, also of values that are none.
#include "request.h"

#include <gtest/gtest.h>

#include <climits>

namespace weft {
namespace {

constexpr int kNone[] = {-1, INT_MIN, INT_MAX, 1000};

TEST(Request, SizesOfTypes) {
  struct Row {
    ncclDataType_t type;
    size_t bytes;
    const char* name;
  };
  const Row rows[] = {{ncclInt8, 1, "ncclInt8"},
                      {ncclUint8, 1, "ncclUint8"},
                      {ncclInt32, 4, "ncclInt32"},
                      {ncclUint32, 4, "ncclUint32"},
                      {ncclInt64, 8, "ncclInt64"},
                      {ncclUint64, 8, "ncclUint64"},
                      {ncclFloat16, 2, "ncclFloat16"},
                      {ncclFloat32, 4, "ncclFloat32"},
                      {ncclFloat64, 8, "ncclFloat64"},
                      {ncclBfloat16, 2, "ncclBfloat16"},
                      {ncclFloat8e4m3, 1, "ncclFloat8e4m3"},
                      {ncclFloat8e5m2, 1, "ncclFloat8e5m2"}};
  static_assert(std::size(rows) == ncclNumTypes);
  for (const Row& row : rows) {
    EXPECT_EQ(type_bytes(row.type), row.bytes) << row.name;
    EXPECT_STREQ(type_name(row.type), row.name);
  }
}

TEST(Request, WhatIsNoTypeHasNoSize) {
  EXPECT_EQ(type_bytes(ncclNumTypes), 0u);
  EXPECT_STREQ(type_name(ncclNumTypes), "no type");
  for (const int value : kNone) {
    EXPECT_EQ(type_bytes(ncclDataType_t(value)), 0u) << value;
    EXPECT_STREQ(type_name(ncclDataType_t(value)), "no type") << value;
  }
}

TEST(Request, NamesOfOps) {
  EXPECT_STREQ(op_name(ncclSum), "ncclSum");
  EXPECT_STREQ(op_name(ncclProd), "ncclProd");
  EXPECT_STREQ(op_name(ncclMax), "ncclMax");
  EXPECT_STREQ(op_name(ncclMin), "ncclMin");
  EXPECT_STREQ(op_name(ncclAvg), "ncclAvg");
  EXPECT_STREQ(op_name(ncclNumOps), "no op");
  for (const int value : kNone) EXPECT_STREQ(op_name(ncclRedOp_t(value)), "no op") << value;
}

TEST(Request, DescribedForMessages) {
  Request request{Collective::kAllReduce, nullptr, nullptr, 1024, ncclFloat32, ncclSum, 0, nullptr};
  EXPECT_EQ(describe(request), "AllReduce of 1024 ncclFloat32, ncclSum");
  request.count = SIZE_MAX;
  request.type = ncclDataType_t(kNone[0]);
  request.op = ncclRedOp_t(kNone[3]);
  EXPECT_EQ(describe(request), "AllReduce of 18446744073709551615 no type, no op");
}

TEST(Request, DescribedWithWhatMatters) {
  Request request{Collective::kSend, nullptr, nullptr, 3, ncclInt8, ncclSum, 5, nullptr};
  EXPECT_EQ(describe(request), "Send of 3 ncclInt8 to rank 5");
  request.collective = Collective::kRecv;
  EXPECT_EQ(describe(request), "Recv of 3 ncclInt8 from rank 5");
  request.collective = Collective::kBroadcast;
  EXPECT_EQ(describe(request), "Broadcast of 3 ncclInt8, root 5");
  request.collective = Collective::kReduce;
  request.op = ncclRedOp_t(99);
  request.user_op = UserOp{ncclInt8, false, 1};
  EXPECT_EQ(describe(request), "Reduce of 3 ncclInt8, root 5, pre-multiplied sum");
  request.collective = Collective::kAllGather;
  EXPECT_EQ(describe(request), "AllGather of 3 ncclInt8");
  request.collective = Collective::kAllReduce;
  request.op = ncclMax;
  request.user_op.reset();
  request.bias = &request;
  EXPECT_EQ(describe(request), "AllReduce of 3 ncclInt8, ncclMax, with bias");
}

// Each rank numbers its own ops.
TEST(Request, OpsOfTheProgramAreOneForSignatures) {
  Request request{Collective::kAllReduce, nullptr, nullptr, 1, ncclInt8, ncclProd, 0, nullptr};
  EXPECT_EQ(op_for_signature(request), int(ncclProd));
  request.op = ncclRedOp_t(99);
  request.user_op = UserOp{ncclInt8, false, 1};
  const int first = op_for_signature(request);
  request.op = ncclRedOp_t(100);
  EXPECT_EQ(op_for_signature(request), first);
  EXPECT_GE(first, int(ncclNumOps));
}

}  // namespace
}  // namespace weft
