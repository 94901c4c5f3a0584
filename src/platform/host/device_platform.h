// Device primitives of the host platform: kernels are C++ functions that our own HIP runtime for
// the CPU runs as fibers. Owns: what src/platform/README.md lists for device_platform.h. A block
// has kHostLanes lanes: 1 for speed (loops vectorise), 4 in checking mode, where every lane is a
// fiber and ThreadSanitizer sees a missing barrier.
#pragma once

#include <hip/hip_host.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

// The arithmetic (WEFT_HD) is always inlined; of the rest the compiler decides: with everything in
// one function, as on devices, a kernel takes two to three times as long to compile.
// tests/mutations needs it so: a changed kernel must not share a function with those that are not.
#ifdef WEFT_HOST_INLINE_ALL
#define WEFT_DEV inline __attribute__((always_inline))
#else
#define WEFT_DEV inline
#endif
#define WEFT_HD inline __attribute__((always_inline))
#define WEFT_ROLLED

namespace weft::platform {

#ifdef WEFT_HOST_LANES
constexpr unsigned kHostLanes = WEFT_HOST_LANES;
#else
constexpr unsigned kHostLanes = 1;
#endif
// A miss may sleep, so every miss looks at the abort word.
constexpr unsigned kSpinsPerCheck = 1;
// Packs a lane takes at a time: enough that what is decided once a batch costs little, few enough
// to stay in the first-level cache.
constexpr int kPacksInFlight = 8;
constexpr int kPacksFolded = kPacksInFlight;  // of four or fewer elements, while it reduces
// Kernel arguments may be indexed by a number known at run time; else that would copy them to
// memory.
constexpr bool kIndexesArguments = true;
// Kernels of one hop exist for all types and lines (device/one_hop.h).
constexpr bool kHasEveryOneHop = true;
constexpr unsigned kMaxThreads = 1024;

struct alignas(16) Bytes16 {
  uint32_t w[4];
};

WEFT_DEV Bytes16 load16(const void* p) { return *static_cast<const Bytes16*>(p); }
WEFT_DEV void store16(void* p, Bytes16 v) { *static_cast<Bytes16*>(p) = v; }

// What this platform does better than the portable text of device/types.h and device/pack.h.
struct Native {
  // Vectors of four lanes (GNU extension): neither g++ nor clang vectorises the conversions of a
  // pack by itself.
  struct Quad {
    typedef int32_t Int __attribute__((vector_size(16)));
    typedef uint32_t Uint __attribute__((vector_size(16)));
    typedef float Float __attribute__((vector_size(16)));
  };
  static WEFT_DEV Bytes16 load16_unaligned(const void* p) {
    Bytes16 bytes;
    __builtin_memcpy(&bytes, p, sizeof(bytes));
    return bytes;
  }
  static WEFT_DEV void store16_unaligned(void* p, Bytes16 bytes) {
    __builtin_memcpy(p, &bytes, sizeof(bytes));
  }
};

WEFT_DEV uint64_t poll64(const uint64_t* p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
WEFT_DEV uint32_t poll32(const uint32_t* p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
WEFT_DEV void post64(uint64_t* p, uint64_t v) {
  __atomic_store_n(p, v, __ATOMIC_RELEASE);
  hipHostNotify(p);
}
WEFT_DEV void post32(uint32_t* p, uint32_t v) {
  __atomic_store_n(p, v, __ATOMIC_RELEASE);
  hipHostNotify(p);
}
// A store that nobody waits for: seen some time later.
WEFT_DEV void note64(uint64_t* p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
WEFT_DEV void note32(uint32_t* p, uint32_t v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
// Adds within the device, orders both ways, returns the value before.
WEFT_DEV uint32_t add_device32(uint32_t* p, uint32_t v) {
  return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);
}

// Adds within the device, after release_device; someone may wait for the sum.
WEFT_DEV void count_device32(uint32_t* p, uint32_t v) {
  __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
WEFT_DEV void count_device64(uint64_t* p, uint64_t v) {
  __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);
  hipHostNotify(p);
}

// Lines of 16 bytes whose halves, each with its own flag, become visible whole.
WEFT_DEV Bytes16 load_line(const void* p) {
  const auto* halves = static_cast<const uint64_t*>(p);
  const uint64_t half[2] = {poll64(halves), poll64(halves + 1)};
  Bytes16 line;
  __builtin_memcpy(&line, half, sizeof(line));
  return line;
}
WEFT_DEV void store_line(void* p, Bytes16 line) {
  uint64_t half[2];
  __builtin_memcpy(half, &line, sizeof(line));
  auto* halves = static_cast<uint64_t*>(p);
  if (hipHostGetFault(hipHostFaultReorderedLines) != 0) {
    post64(halves + 1, half[1]);
    hipHostPollMiss(p);
    post64(halves, half[0]);
  } else if (hipHostGetFault(hipHostFaultTornLines) != 0) {
    post64(halves, half[0]);
    hipHostPollMiss(p);
    post64(halves + 1, half[1]);
  } else {
    __atomic_store_n(halves, half[0], __ATOMIC_RELEASE);
    __atomic_store_n(halves + 1, half[1], __ATOMIC_RELEASE);
  }
  hipHostNotify(p);
}

template <class Value>
WEFT_DEV const Value& same_in_wave(const Value& value) {
  return value;
}
WEFT_DEV int lowest_bit(uint32_t mask) { return __builtin_ctz(mask); }

WEFT_DEV void acquire_system() {}
WEFT_DEV void release_system() {}
WEFT_DEV void acquire_device() {}
WEFT_DEV void release_device() {}

WEFT_DEV void poll_miss(const void* p) { hipHostPollMiss(p); }
WEFT_DEV void poll_hit() { hipHostPollHit(); }

WEFT_DEV uint64_t clock_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return uint64_t(t.tv_sec) * 1'000'000'000u + uint64_t(t.tv_nsec);
}

// What the lanes of one block share.
struct alignas(16) BlockShared {
  uint32_t stop;  // a lane gave up: the block leaves
};

class Block {
 public:
  explicit Block(const hipHostLane& at)
      : shared_(static_cast<BlockShared*>(at.shared)),
        index_(at.block),
        grid_(at.grid),
        lane_(at.lane) {}

  WEFT_DEV unsigned index() const { return index_; }
  WEFT_DEV unsigned grid() const { return grid_; }
  WEFT_DEV unsigned lane() const { return kHostLanes == 1 ? 0 : lane_; }
  WEFT_DEV unsigned width() const { return kHostLanes; }
  WEFT_DEV bool leader() const { return lane() == 0; }

  // All lanes meet; what each wrote before, all see after.
  WEFT_DEV void sync() const {
    if constexpr (kHostLanes > 1) hipHostBarrier();
  }
  WEFT_DEV void drain() const {}

  // Calls f(i) for i < n, lanes taking turns.
  template <class Number, class F>
  WEFT_DEV void each(Number n, F f) const {
    for (auto i = Number(lane()); i < n; i += Number(width())) f(i);
  }
  // Calls f.template operator()<kCount>(i, stride, left), which stands for i, i + stride, ...,
  // kCount of them, as far as they are among the `left` from i on.
  template <int kCount, class F>
  WEFT_DEV void each_batch(uint32_t n, F f) const {
    for (uint32_t i = lane(); i < n; i += kCount * width())
      f.template operator()<kCount>(i, width(), n - i);
  }
  // Memory that the lanes share, of the size asked for at launch.
  WEFT_DEV void* scratch() const { return shared_ + 1; }

  // True for the first lane that stops the block.
  WEFT_DEV bool stop() const {
    return __atomic_exchange_n(&shared_->stop, 1u, __ATOMIC_RELAXED) == 0;
  }
  // Whether any lane stopped; the same for all lanes between two barriers.
  WEFT_DEV bool stopped() const { return __atomic_load_n(&shared_->stop, __ATOMIC_RELAXED) != 0; }

 private:
  BlockShared* shared_;
  unsigned index_, grid_, lane_;
};

template <class Body, class Args>
void run_block(const void* args) {
  Body{}(Block(*hipHostThisLane()), *static_cast<const Args*>(args));
}

template <class Body, class Args>
inline const hipHostKernel kBlockKernel = {hipHostKernelMagic, Body::kName, &run_block<Body, Args>,
                                           sizeof(Args), kHostLanes};

template <class Body, class Args>
const void* kernel_address() {
  return &kBlockKernel<Body, Args>;
}

}  // namespace weft::platform

#include "lines.h"
