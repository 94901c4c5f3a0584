// The conversions of src/platform/nvidia/native.h give the numbers of device/types_narrow.h for
// every word and every float. Needs a GPU.
#include <gtest/gtest.h>

#include "native_cuda_kernels.h"

namespace weft::test {
namespace {

struct Conversion {
  NarrowType type;
  Direction direction;
  const char* name;
};

class NativeConversion : public testing::TestWithParam<Conversion> {};

TEST_P(NativeConversion, IsThePortableOne) {
  const Difference difference = compare_conversions(GetParam().type, GetParam().direction);
  EXPECT_EQ(difference.wrong, 0u) << "for example of 0x" << std::hex << difference.example;
}

INSTANTIATE_TEST_SUITE_P(
    All, NativeConversion,
    testing::Values(Conversion{NarrowType::kFloat16, Direction::kUnpack, "UnpackFloat16"},
                    Conversion{NarrowType::kFp8E4m3, Direction::kUnpack, "UnpackFp8E4m3"},
                    Conversion{NarrowType::kFp8E5m2, Direction::kUnpack, "UnpackFp8E5m2"},
                    Conversion{NarrowType::kFloat16, Direction::kRepack, "RepackFloat16"},
                    Conversion{NarrowType::kBfloat16, Direction::kRepack, "RepackBfloat16"},
                    Conversion{NarrowType::kFp8E4m3, Direction::kRepack, "RepackFp8E4m3"},
                    Conversion{NarrowType::kFp8E5m2, Direction::kRepack, "RepackFp8E5m2"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::test
