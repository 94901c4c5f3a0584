// The kernels of native_cuda_test.cc; compiled by nvcc.
#include "native_cuda_kernels.h"

#include <hip/hip_runtime.h>

#include <stdexcept>

#include "device/pack.h"

namespace weft::test {
namespace {

using platform::Block;
using platform::Native;

struct CompareArgs {
  Difference* difference;
};

template <class Type>
struct Compare {
  static constexpr const char* kName = "weft_compare";
  static constexpr int kPerWord = Sharing<Type>::kPerWord;
  using Codec = typename Type::Codec;

  static WEFT_DEV void report(const CompareArgs& args, uint32_t example) {
    if (platform::add_device32(&args.difference->wrong, 1) == 0) args.difference->example = example;
  }
  static WEFT_DEV uint32_t code_of(uint32_t word, int place) {
    return word >> (place * Sharing<Type>::kBits) & Sharing<Type>::kMask;
  }
  static WEFT_DEV bool same(float a, float b) {
    return bits_as<uint32_t>(a) == bits_as<uint32_t>(b) || (a != a && b != b);
  }
};

template <class Type>
struct CompareUnpack : Compare<Type> {
  using Base = Compare<Type>;
  WEFT_DEV void operator()(const Block& block, const CompareArgs& args) const {
    const uint64_t stride = uint64_t(block.grid()) * block.width();
    for (uint64_t i = uint64_t(block.index()) * block.width() + block.lane(); i < 1ull << 32;
         i += stride) {
      float out[Base::kPerWord];
      Native::unpack_word(typename Base::Codec{}, uint32_t(i), out);
      for (int place = 0; place < Base::kPerWord; ++place)
        if (!Base::same(out[place], Base::Codec::decode(Base::code_of(uint32_t(i), place))))
          Base::report(args, uint32_t(i));
    }
  }
};

template <class Type>
struct CompareRepack : Compare<Type> {
  using Base = Compare<Type>;
  WEFT_DEV void operator()(const Block& block, const CompareArgs& args) const {
    constexpr uint64_t kWordsOfFloats = (1ull << 32) / Base::kPerWord;
    const uint64_t stride = uint64_t(block.grid()) * block.width();
    for (uint64_t i = uint64_t(block.index()) * block.width() + block.lane(); i < kWordsOfFloats;
         i += stride) {
      float in[Base::kPerWord];
      for (int place = 0; place < Base::kPerWord; ++place)
        in[place] = bits_as<float>(uint32_t(i * Base::kPerWord + place));
      const uint32_t word = Native::repack_word(typename Base::Codec{}, in);
      for (int place = 0; place < Base::kPerWord; ++place) {
        const uint32_t got = Base::code_of(word, place), want = Base::Codec::encode(in[place]);
        if (got != want && !Base::same(Base::Codec::decode(got), Base::Codec::decode(want)))
          Base::report(args, bits_as<uint32_t>(in[place]));
      }
    }
  }
};

void require(hipError_t code) {
  if (code != hipSuccess) throw std::runtime_error(hipGetErrorString(code));
}

template <class Body>
Difference run() {
  CompareArgs args{};
  require(hipMalloc(&args.difference, sizeof(Difference)));
  require(hipMemset(args.difference, 0, sizeof(Difference)));
  void* arguments[] = {&args};
  require(hipLaunchKernel(platform::kernel_address<Body, CompareArgs>(), dim3(1024), dim3(256),
                          arguments, 0, nullptr));
  Difference difference{};
  require(hipMemcpy(&difference, args.difference, sizeof difference, hipMemcpyDeviceToHost));
  require(hipFree(args.difference));
  return difference;
}

template <class Type>
Difference compare(Direction direction) {
  if (direction == Direction::kRepack) return run<CompareRepack<Type>>();
  if constexpr (HasUnpackWord<Native, Type>) return run<CompareUnpack<Type>>();
  throw std::logic_error("no instruction unpacks this type");
}

}  // namespace

Difference compare_conversions(NarrowType type, Direction direction) {
  switch (type) {
    case NarrowType::kFloat16:
      return compare<Float16>(direction);
    case NarrowType::kBfloat16:
      return compare<Bfloat16>(direction);
    case NarrowType::kFp8E4m3:
      return compare<Fp8E4m3>(direction);
    case NarrowType::kFp8E5m2:
      return compare<Fp8E5m2>(direction);
  }
  throw std::logic_error("unknown type");
}

}  // namespace weft::test
