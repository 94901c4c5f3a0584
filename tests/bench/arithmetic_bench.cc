// How fast one core reduces: packs of an input combined with packs of a slot, as a hop does. The
// figure is bytes of result a second; 64 KiB buffers stay in the cache, so that conversions and not
// memory are measured.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "device/pack.h"

namespace weft {
namespace {

constexpr size_t kBufferBytes = size_t(64) << 10;

struct alignas(64) Line {
  unsigned char byte[64];
};

// Values near 1, so that no conversion takes a path for subnormals.
template <class Type>
std::vector<Line> buffer() {
  std::vector<Line> lines(kBufferBytes / sizeof(Line));
  const size_t elems = kBufferBytes / sizeof(typename Type::storage);
  for (size_t i = 0; i < elems; ++i) {
    const auto value = Type::store(typename Type::accumulator(1 + int(i % 7)));
    std::memcpy(reinterpret_cast<char*>(lines.data()) + i * sizeof(value), &value, sizeof(value));
  }
  return lines;
}

template <class Op, class Type>
void combine_packs(const char* in, const char* slot, char* out, size_t packs, const OpArg& arg) {
  for (size_t i = 0; i < packs; ++i) {
    const size_t at = i * kPackBytes;
    const Pack<Type> mine = pre(load_pack<Type>(in + at), arg);
    const auto all = combine<Op>(unpack(mine), unpack(load_pack<Type>(slot + at)), arg);
    store_pack(out + at, repack(post(all, arg)));
  }
}

template <class Op, class Type>
void run(benchmark::State& state, const OpArg& arg) {
  const auto in = buffer<Type>();
  const auto slot = buffer<Type>();
  std::vector<Line> out(in.size());
  for (auto _ : state) {
    combine_packs<Op, Type>(reinterpret_cast<const char*>(in.data()),
                            reinterpret_cast<const char*>(slot.data()),
                            reinterpret_cast<char*>(out.data()), kBufferBytes / kPackBytes, arg);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(kBufferBytes));
}

template <class Type>
void sum(benchmark::State& state) {
  run<Sum, Type>(state, plain_arg<Type>());
}
template <class Type>
void max(benchmark::State& state) {
  run<MinMax, Type>(state, min_max_arg<Type>(true));
}
template <class Type>
void average(benchmark::State& state) {
  run<Sum, Type>(state, average_arg<Type>(3));
}

}  // namespace
}  // namespace weft

#define WEFT_BENCH(type)                                \
  BENCHMARK(weft::sum<weft::type>)->Name("sum/" #type); \
  BENCHMARK(weft::max<weft::type>)->Name("max/" #type); \
  BENCHMARK(weft::average<weft::type>)->Name("average/" #type)

WEFT_BENCH(Int8);
WEFT_BENCH(Int32);
WEFT_BENCH(Int64);
WEFT_BENCH(Float16);
WEFT_BENCH(Bfloat16);
WEFT_BENCH(Float32);
WEFT_BENCH(Float64);
WEFT_BENCH(Fp8E4m3);
WEFT_BENCH(Fp8E5m2);
WEFT_BENCH(Fp8E4m3Fnuz);
WEFT_BENCH(Fp8E5m2Fnuz);
