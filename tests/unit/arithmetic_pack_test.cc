// Packs from and to memory at every alignment and length, with guards around the buffer.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "device/pack.h"

namespace weft {
namespace {

struct NoNative;  // the portable text, whatever the platform has

constexpr unsigned char kGuard = 0xa5;

template <class Type>
class PackTest : public testing::Test {
 protected:
  using Storage = typename Type::storage;
  static constexpr size_t kSize = sizeof(Storage);
  static constexpr size_t kElems = size_t(Pack<Type>::kElems);

  // Bytes 1, 2, 3 ... at `offset`, guards around them. The vector is as long as needed, so that a
  // checker sees overruns.
  static unsigned char* fill(std::vector<unsigned char>& memory, size_t offset, size_t bytes) {
    memory.assign(offset + bytes + 3 * kPackBytes, kGuard);
    unsigned char* start = memory.data() + kPackBytes;
    while (reinterpret_cast<uintptr_t>(start) % kPackBytes != 0) ++start;
    start += offset;
    for (size_t i = 0; i < bytes; ++i) start[i] = byte_at(i);
    return start;
  }
  static unsigned char byte_at(size_t i) { return (unsigned char)(1 + i % 150); }
};

using PackedTypes = testing::Types<Int8, Uint8, Int32, Uint32, Int64, Uint64, Float16, Bfloat16,
                                   Float32, Float64, Fp8E4m3>;
TYPED_TEST_SUITE(PackTest, PackedTypes);

TYPED_TEST(PackTest, CopiesEveryAlignmentAndLength) {
  for (size_t from_offset = 0; from_offset < kPackBytes; from_offset += this->kSize) {
    for (size_t to_offset : {size_t(0), this->kSize, kPackBytes - this->kSize, size_t(8)}) {
      for (size_t elems = 0; elems <= 2 * this->kElems + 1; ++elems) {
        std::vector<unsigned char> source, target;
        const auto* from = this->fill(source, from_offset, elems * this->kSize);
        auto* to = this->fill(target, to_offset, elems * this->kSize);
        std::memset(to, 0, elems * this->kSize);
        const auto input = Input<TypeParam>::of(from, elems);
        const auto output = Output<TypeParam>::of(to, elems);
        ASSERT_EQ(input.packs(), (elems + this->kElems - 1) / this->kElems);
        for (size_t i = 0; i < input.packs(); ++i) output.store(i, input.load(i));
        ASSERT_EQ(std::memcmp(from, to, elems * this->kSize), 0);
        for (const unsigned char* p = target.data(); p < target.data() + target.size(); ++p) {
          const bool inside = p >= to && p < to + elems * this->kSize;
          ASSERT_TRUE(inside || *p == kGuard);
        }
      }
    }
  }
}

TYPED_TEST(PackTest, PartsArePaddedWithZeros) {
  for (size_t elems = 0; elems <= this->kElems; ++elems) {
    std::vector<unsigned char> memory;
    const auto* from = this->fill(memory, this->kSize, this->kElems * this->kSize);
    unsigned char bytes[kPackBytes];
    const auto pack = load_part<TypeParam>(from, elems);
    std::memcpy(bytes, &pack, sizeof(bytes));
    for (size_t i = 0; i < kPackBytes; ++i)
      ASSERT_EQ(bytes[i], i < elems * this->kSize ? this->byte_at(i) : 0);
  }
}

TYPED_TEST(PackTest, UnalignedByWords) {
  for (size_t offset = 0; offset < kPackBytes; offset += this->kSize) {
    std::vector<unsigned char> source, target;
    const auto* from = this->fill(source, offset, kPackBytes);
    auto* to = this->fill(target, offset, kPackBytes);
    std::memset(to, 0, kPackBytes);
    store_unaligned<TypeParam, NoNative>(to, load_unaligned<TypeParam, NoNative>(from));
    ASSERT_EQ(std::memcmp(from, to, kPackBytes), 0);
    ASSERT_EQ(to[-1], kGuard);
    ASSERT_EQ(to[kPackBytes], kGuard);
  }
}

// The order of accumulators is private, but the portable and the vector text must both undo it.
TYPED_TEST(PackTest, UnpackAndRepackKeepEveryBit) {
  std::vector<unsigned char> memory;
  const auto pack = load_pack<TypeParam>(this->fill(memory, 0, kPackBytes));
  const auto fast = repack(unpack(pack));
  const auto portable = repack<TypeParam, NoNative>(unpack<TypeParam, NoNative>(pack));
  EXPECT_EQ(std::memcmp(&fast, &pack, sizeof(pack)), 0);
  EXPECT_EQ(std::memcmp(&portable, &pack, sizeof(pack)), 0);
}

}  // namespace
}  // namespace weft
