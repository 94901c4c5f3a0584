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

}  // namespace
}  // namespace weft
