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
#define WEFT_ROLLED _Pragma("unroll 1")
#else
#define WEFT_DEV inline
#define WEFT_HD inline
#define WEFT_ROLLED
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
constexpr int kPacksFolded = 3;  // of four or fewer elements, while it reduces
// Kernel arguments may be indexed by a number known at run time; else that would copy them to
// memory.
constexpr bool kIndexesArguments = true;
// Kernels of one hop exist for all types and lines (device/one_hop.h).
constexpr bool kHasEveryOneHop = true;
constexpr unsigned kMaxThreads = 512;
// Lanes that share a line of LL128 (gpu/lines.h).
constexpr int kLineLanes = 8;

#ifdef __CUDACC__

// Said to be global: accesses at generic addresses take longer, and the reduction of 64 bits then
// is a branch over kinds of memory.
WEFT_DEV size_t global(const void* p) { return __cvta_generic_to_global(p); }

WEFT_DEV Bytes16 load16(const void* p) {
  const uint4 v = *static_cast<const uint4*>(p);
  return {{v.x, v.y, v.z, v.w}};
}
WEFT_DEV void store16(void* p, Bytes16 v) {
  *static_cast<uint4*>(p) = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
}

// Lines of LL128: 128 bytes, a store of eight lanes at once (device/ll128.h).
constexpr bool kReadTwice = false;
WEFT_DEV void meet_in_wave() { __syncwarp(); }
WEFT_DEV bool any_in_wave(bool lane) { return __any_sync(~0u, lane) != 0; }
// What the lane `by` places on has, of those that share a pair of lines.
WEFT_DEV uint32_t shift_in_unit(uint32_t value, int by) {
  return __shfl_sync(~0u, value, threadIdx.x + unsigned(by), 2 * kLineLanes);
}

// Lines of 16 bytes: each 8-byte half becomes visible whole.
WEFT_DEV Bytes16 load_line(const void* p) {
  Bytes16 v;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
               : "l"(global(p))
               : "memory");
  return v;
}
WEFT_DEV void store_line(void* p, Bytes16 v) {
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(global(p)), "r"(v.w[0]),
               "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3])
               : "memory");
}

WEFT_DEV uint64_t poll64(const uint64_t* p) {
  uint64_t v;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(global(p)) : "memory");
  return v;
}
WEFT_DEV uint32_t poll32(const uint32_t* p) {
  uint32_t v;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(global(p)) : "memory");
  return v;
}
WEFT_DEV void post64(uint64_t* p, uint64_t v) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(global(p)), "l"(v) : "memory");
}
WEFT_DEV void post32(uint32_t* p, uint32_t v) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(global(p)), "r"(v) : "memory");
}
WEFT_DEV void note64(uint64_t* p, uint64_t v) { post64(p, v); }
WEFT_DEV void note32(uint32_t* p, uint32_t v) { post32(p, v); }

WEFT_DEV uint32_t add_device32(uint32_t* p, uint32_t v) {
  uint32_t before;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(global(p)), "r"(v)
               : "memory");
  return before;
}

WEFT_DEV void count_device32(uint32_t* p, uint32_t v) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(global(p)), "r"(v) : "memory");
}
WEFT_DEV void count_device64(uint64_t* p, uint64_t v) {
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(global(p)), "l"(v) : "memory");
}

template <class Value>
WEFT_DEV const Value& same_in_wave(const Value& value) {
  return value;
}
WEFT_DEV int lowest_bit(uint32_t mask) { return __ffs(int(mask)) - 1; }

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

// What gpu/block.h is made of.
WEFT_DEV void block_sync() { __syncthreads(); }
// The fence of the posting lane is cumulative over the barrier before it: nothing to do here.
WEFT_DEV void lane_drain() {}
using SharedWord = volatile uint32_t;

template <class Body>
constexpr bool kBodyRunsHere = true;  // all of them: CMake leaves out what has no type here

#define WEFT_KERNEL_BOUNDS(Body) __launch_bounds__(kMaxThreads, 1)
#define WEFT_KERNEL_ARGUMENT __grid_constant__

#endif  // __CUDACC__

}  // namespace weft::platform

#ifdef __CUDACC__
#include "../gpu/block.h"
#include "../gpu/lines.h"
#endif
