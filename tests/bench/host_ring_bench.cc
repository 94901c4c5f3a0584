// The cost of waiting and posting on the host platform: ranks in a ring, each block waits for its
// predecessor's flag and its successor's credit, adds 16-byte vectors into the successor's slot and
// posts both. One iteration is one launch on every rank of kSteps steps. Counters: us per step (of
// all ranks together) and GB/s of reduced bytes. Results are checked after every run.
#include <benchmark/benchmark.h>
#include <hip/hip_runtime.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

typedef float Vector __attribute__((vector_size(16)));
constexpr size_t kFlagBytes = 64;

struct RingArgs {
  const Vector* local;
  Vector* slot[2];           // own
  Vector* next[2];           // the successor's
  uint64_t *ready, *credit;  // own flags
  uint64_t *next_ready, *previous_credit;
  size_t vectors;                   // per block
  size_t flag_stride, slot_stride;  // per block
  int steps;
};

void wait_ge(const uint64_t* flag, uint64_t value) {
  // Acquire: pairs with the release in post() of the neighbour.
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < value) hipHostPollMiss(flag);
  hipHostPollHit();
}
void post(uint64_t* flag, uint64_t value) {
  __atomic_store_n(flag, value, __ATOMIC_RELEASE);
  hipHostNotify(flag);
}

void ring(const void* p) {
  const RingArgs& a = *static_cast<const RingArgs*>(p);
  const size_t b = hipHostThisLane()->block, f = b * a.flag_stride, s0 = b * a.slot_stride;
  for (int s = 0; s < a.steps; ++s) {
    wait_ge(a.ready + f, static_cast<uint64_t>(s) + 1);
    wait_ge(a.credit + f, static_cast<uint64_t>(s));
    const Vector* in = a.slot[s & 1] + s0;
    Vector* out = a.next[(s + 1) & 1] + s0;
    const Vector* local = a.local;
    for (size_t i = 0; i < a.vectors; ++i) out[i] = in[i] + local[i];
    post(a.previous_credit + f, static_cast<uint64_t>(s) + 1);
    post(a.next_ready + f, static_cast<uint64_t>(s) + 2);
  }
}
const hipHostKernel kRing = {hipHostKernelMagic, "ring", &ring, sizeof(RingArgs), 1};

void must(hipError_t error) {
  if (error == hipSuccess) return;
  fprintf(stderr, "%s\n", hipGetErrorString(error));
  exit(1);
}

struct Rank {
  RingArgs args{};
  hipStream_t stream = nullptr;
  char* memory = nullptr;
};

class Ring {
 public:
  Ring(int ranks, unsigned blocks, size_t block_bytes, int steps)
      : blocks_(blocks), bytes_(block_bytes), ranks_(static_cast<size_t>(ranks)) {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      must(hipSetDevice(static_cast<int>(r)));
      must(hipStreamCreateWithFlags(&ranks_[r].stream, hipStreamNonBlocking));
      must(hipMalloc(&ranks_[r].memory, total()));
    }
    for (size_t r = 0; r < ranks_.size(); ++r) connect(r, steps);
  }
  ~Ring() {
    for (Rank& rank : ranks_) {
      must(hipFree(rank.memory));
      must(hipStreamDestroy(rank.stream));
    }
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void reset() {
    for (Rank& rank : ranks_) {
      must(hipMemset(rank.memory, 0, total()));
      const std::vector<float> ones(bytes_ / sizeof(float), 1.0f);
      must(hipMemcpy(rank.memory, ones.data(), bytes_, hipMemcpyDefault));
      for (unsigned b = 0; b < blocks_; ++b) rank.args.ready[b * kFlagBytes / 8] = 1;
    }
  }
  void run() {
    for (Rank& rank : ranks_) {
      void* args[] = {&rank.args};
      must(hipLaunchKernel(&kRing, dim3(blocks_), dim3(256), args, 0, rank.stream));
    }
    for (Rank& rank : ranks_) must(hipStreamSynchronize(rank.stream));
  }
  bool right(int steps) const {
    for (const Rank& rank : ranks_) {
      const Vector* out = rank.args.slot[steps & 1];
      for (size_t i = 0; i < blocks_ * bytes_ / sizeof(Vector); ++i) {
        if (out[i][0] != static_cast<float>(steps) || out[i][3] != static_cast<float>(steps)) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  size_t total() const { return bytes_ + 2 * blocks_ * (bytes_ + kFlagBytes); }
  Vector* slot(size_t r, int k) const {
    return reinterpret_cast<Vector*>(ranks_[r].memory + bytes_ +
                                     static_cast<size_t>(k) * blocks_ * bytes_);
  }
  uint64_t* flag(size_t r, int k) const {
    return reinterpret_cast<uint64_t*>(ranks_[r].memory + bytes_ + 2 * blocks_ * bytes_ +
                                       static_cast<size_t>(k) * blocks_ * kFlagBytes);
  }
  void connect(size_t r, int steps) {
    const size_t n = ranks_.size(), next = (r + 1) % n, previous = (r + n - 1) % n;
    RingArgs& a = ranks_[r].args;
    a.local = reinterpret_cast<const Vector*>(ranks_[r].memory);
    for (int k = 0; k < 2; ++k) {
      a.slot[k] = slot(r, k);
      a.next[k] = slot(next, k);
    }
    a.ready = flag(r, 0);
    a.credit = flag(r, 1);
    a.next_ready = flag(next, 0);
    a.previous_credit = flag(previous, 1);
    a.vectors = bytes_ / sizeof(Vector);
    a.flag_stride = kFlagBytes / sizeof(uint64_t);
    a.slot_stride = a.vectors;
    a.steps = steps;
  }

  unsigned blocks_;
  size_t bytes_;
  std::vector<Rank> ranks_;
};

void ring_step(benchmark::State& state) {
  constexpr int kRanks = 8;
  const auto blocks = static_cast<unsigned>(state.range(0));
  const auto bytes = static_cast<size_t>(state.range(1));
  const int steps = bytes <= 4096 ? 20000 : bytes <= 32768 ? 4000 : 1000;
  Ring ring(kRanks, blocks, bytes, steps);
  for (auto _ : state) {
    state.PauseTiming();
    ring.reset();
    state.ResumeTiming();
    ring.run();
  }
  if (!ring.right(steps)) state.SkipWithError("wrong result");
  const double all = static_cast<double>(state.iterations()) * steps;
  state.counters["us_per_step"] =
      benchmark::Counter(all / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["GB_per_s"] = benchmark::Counter(
      all * kRanks * blocks * static_cast<double>(bytes) / 1e9, benchmark::Counter::kIsRate);
}
BENCHMARK(ring_step)
    ->ArgNames({"blocks", "bytes"})
    ->Args({1, 1024})
    ->Args({2, 1024})
    ->Args({2, 16384})
    ->Args({2, 131072})
    ->Args({2, 1048576})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void nothing(const void*) {}
const hipHostKernel kNothing = {hipHostKernelMagic, "nothing", &nothing, 0, 1};

// From the call to the end of an empty kernel, as a host thread sees it.
void launch_and_wait(benchmark::State& state) {
  hipStream_t stream = nullptr;
  must(hipSetDevice(0));
  must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  for (auto _ : state) {
    must(hipLaunchKernel(&kNothing, dim3(1), dim3(64), nullptr, 0, stream));
    must(hipStreamSynchronize(stream));
  }
  must(hipStreamDestroy(stream));
}
BENCHMARK(launch_and_wait)->UseRealTime()->Unit(benchmark::kMicrosecond);

// The host's share when it does not wait.
void launch_only(benchmark::State& state) {
  hipStream_t stream = nullptr;
  must(hipSetDevice(0));
  must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  for (auto _ : state) must(hipLaunchKernel(&kNothing, dim3(1), dim3(64), nullptr, 0, stream));
  must(hipStreamSynchronize(stream));
  must(hipStreamDestroy(stream));
}
BENCHMARK(launch_only)->UseRealTime()->Unit(benchmark::kMicrosecond)->Iterations(100000);

}  // namespace

BENCHMARK_MAIN();
