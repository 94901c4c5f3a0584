// Device primitives of the nvidia platform. Owns: what src/platform/README.md lists for
// device_platform.h. Ordering is that of the PTX memory model (docs/memory-model.md): relaxed
// system-scope accesses for words, one fence.acq_rel.sys beside each. Also compiled by the host
// compiler for what is pure arithmetic; there only the macros exist.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define WEFT_DEV __device__ __forceinline__
#define WEFT_HD __host__ __device__ __forceinline__
#else
#define WEFT_DEV inline
#define WEFT_HD inline
#endif

#ifdef __CUDACC__
#include "native.h"
#endif

namespace weft::platform {

struct alignas(16) Bytes16 {
  uint32_t w[4];
};

// A poll of local memory takes some 0.5 us, so the abort word is seen within a millisecond.
constexpr unsigned kSpinsPerCheck = 1024;
// 16-byte accesses a lane keeps in flight while it copies; fewer where it also reduces
// (device/move.h).
constexpr int kPacksInFlight = 4;
constexpr unsigned kMaxThreads = 512;

#ifdef __CUDACC__

WEFT_DEV Bytes16 load16(const void* p) {
  const uint4 v = *static_cast<const uint4*>(p);
  return {{v.x, v.y, v.z, v.w}};
}
WEFT_DEV void store16(void* p, Bytes16 v) {
  *static_cast<uint4*>(p) = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
}

WEFT_DEV uint64_t poll64(const uint64_t* p) {
  uint64_t v;
  asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
WEFT_DEV uint32_t poll32(const uint32_t* p) {
  uint32_t v;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
WEFT_DEV void post64(uint64_t* p, uint64_t v) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
WEFT_DEV void post32(uint32_t* p, uint32_t v) {
  asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
WEFT_DEV void note64(uint64_t* p, uint64_t v) { post64(p, v); }
WEFT_DEV void note32(uint32_t* p, uint32_t v) { post32(p, v); }

WEFT_DEV uint32_t add_device32(uint32_t* p, uint32_t v) {
  uint32_t before;
  asm volatile("atom.relaxed.gpu.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(v) : "memory");
  return before;
}

WEFT_DEV void acquire_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
WEFT_DEV void release_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
WEFT_DEV void acquire_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
WEFT_DEV void release_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

WEFT_DEV void poll_miss(const void*) {}
WEFT_DEV void poll_hit() {}

WEFT_DEV uint64_t clock_ns() {
  uint64_t t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

// What the lanes of one block share, beside the scratch.
struct BlockShared {
  uint32_t stop;
};

extern __shared__ char weft_scratch[];

class Block {
 public:
  explicit WEFT_DEV Block(BlockShared* shared) : shared_(shared) {}

  WEFT_DEV unsigned index() const { return blockIdx.x; }
  WEFT_DEV unsigned grid() const { return gridDim.x; }
  WEFT_DEV unsigned lane() const { return threadIdx.x; }
  WEFT_DEV unsigned width() const { return blockDim.x; }
  WEFT_DEV bool leader() const { return threadIdx.x == 0; }

  WEFT_DEV void sync() const { __syncthreads(); }
  // The fence of the posting lane is cumulative over the barrier before it: nothing to do here.
  WEFT_DEV void drain() const {}

  template <class F>
  WEFT_DEV void each(size_t n, F f) const {
    for (size_t i = lane(); i < n; i += width()) f(i);
  }
  template <int kCount, class F>
  WEFT_DEV void each_batch(size_t n, F f) const {
    const size_t stride = width();
    size_t i = lane();
    if constexpr (kCount > 1)  // else the same code would be there twice
      for (; i + (kCount - 1) * stride < n; i += kCount * stride)
        f.template operator()<kCount>(i, stride);
    for (; i < n; i += stride) f.template operator()<1>(i, stride);
  }

  WEFT_DEV void* scratch() const { return weft_scratch; }

  WEFT_DEV void stop() const { *static_cast<volatile uint32_t*>(&shared_->stop) = 1; }
  WEFT_DEV bool stopped() const { return *static_cast<volatile uint32_t*>(&shared_->stop) != 0; }

 private:
  BlockShared* shared_;
};

template <class Body, class Args>
__global__ void __launch_bounds__(kMaxThreads) block_kernel(const __grid_constant__ Args args) {
  static_assert(Body::kName[0] != 0, "a kernel has a name");
  __shared__ BlockShared shared;
  if (threadIdx.x == 0) shared.stop = 0;
  __syncthreads();
  Body{}(Block(&shared), args);
}

template <class Body, class Args>
const void* kernel_address() {
  return reinterpret_cast<const void*>(&block_kernel<Body, Args>);
}

#endif  // __CUDACC__

}  // namespace weft::platform
