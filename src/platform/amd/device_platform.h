// Device primitives of the amd platform. Owns: what src/platform/README.md lists for
// device_platform.h. The instructions that ordering needs are read back from the machine code in CI
// (tests/machine_code); the rules they serve are in docs/memory-model.md. Also compiled by the host
// compiler for what is pure arithmetic; there only the macros exist.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __HIP__
#include <hip/hip_runtime.h>
#define WEFT_DEV __device__ __forceinline__
#define WEFT_HD __host__ __device__ __forceinline__
#define WEFT_ROLLED _Pragma("unroll 1")
#else
#define WEFT_DEV inline
#define WEFT_HD inline
#define WEFT_ROLLED
#endif

namespace weft {
struct Fp8E4m3;
struct Fp8E5m2;
struct Fp8E4m3Fnuz;
struct Fp8E5m2Fnuz;
}  // namespace weft

namespace weft::platform {

struct alignas(16) Bytes16 {
  uint32_t w[4];
};

constexpr unsigned kSpinsPerCheck = 1024;
// 16-byte accesses a lane keeps in flight while it copies; fewer where it also reduces
// (device/move.h).
constexpr int kPacksInFlight = 4;
constexpr int kPacksFolded = 2;  // of four or fewer elements, while it reduces
// An index known at run time would copy the arguments of a kernel to memory.
constexpr bool kIndexesArguments = false;
// Of kernels of one hop (device/one_hop.h) there are none for lines that lanes of a wave share,
// which would keep more than its scalar registers hold, nor for sums of bytes, where gfx90a reads
// pointers through the scalar cache.
constexpr bool kHasEveryOneHop = false;
constexpr unsigned kMaxThreads = 512;
// Lanes that share a line of LL128 (gpu/lines.h).
constexpr int kLineLanes = 4;

#ifdef __HIP__

// Memory that kernels share is global; said so, the compiler takes global_ instead of flat_
// instructions.
#define WEFT_GLOBAL __attribute__((address_space(1)))
#define WEFT_LOCAL __attribute__((address_space(3)))
typedef uint32_t Vector4 __attribute__((ext_vector_type(4)));

WEFT_DEV Bytes16 load16(const void* p) {
  const Vector4 v = *(const WEFT_GLOBAL Vector4*)p;
  return {{v.x, v.y, v.z, v.w}};
}
WEFT_DEV void store16(void* p, Bytes16 v) {
  *(WEFT_GLOBAL Vector4*)p = Vector4{v.w[0], v.w[1], v.w[2], v.w[3]};
}

// Lines of LL128: 64 bytes, a store of four lanes at once (device/ll128.h).
constexpr bool kReadTwice = true;
WEFT_DEV void meet_in_wave() {}  // its lanes go on side by side
WEFT_DEV bool any_in_wave(bool lane) { return __builtin_amdgcn_ballot_w64(lane) != 0; }
// What the lane `by` places on has, of those that share a pair of lines.
WEFT_DEV uint32_t shift_in_unit(uint32_t value, int by) {
  return uint32_t(__builtin_amdgcn_ds_bpermute(int(__lane_id() + unsigned(by)) * 4, int(value)));
}

// Lines of 16 bytes, of which each 8-byte half becomes visible whole: one wide access that bypasses
// every cache, since volatile means sc0 sc1 (glc, scope:SCOPE_SYS) and a wait behind a load.
WEFT_DEV Bytes16 load_line(const void* p) {
  const Vector4 v = *(const volatile WEFT_GLOBAL Vector4*)p;
  return {{v.x, v.y, v.z, v.w}};
}
WEFT_DEV void store_line(void* p, Bytes16 v) {
  *(volatile WEFT_GLOBAL Vector4*)p = Vector4{v.w[0], v.w[1], v.w[2], v.w[3]};
}

// System-scope atomics bypass every cache (sc0 sc1 on gfx942). Never poll with a non-temporal
// builtin: it drops the volatile and becomes one scalar load.
WEFT_DEV uint64_t poll64(const uint64_t* p) {
  return __hip_atomic_load((const WEFT_GLOBAL uint64_t*)p, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_SYSTEM);
}
WEFT_DEV uint32_t poll32(const uint32_t* p) {
  return __hip_atomic_load((const WEFT_GLOBAL uint32_t*)p, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_SYSTEM);
}
WEFT_DEV void post64(uint64_t* p, uint64_t v) {
  __hip_atomic_store((WEFT_GLOBAL uint64_t*)p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
WEFT_DEV void post32(uint32_t* p, uint32_t v) {
  __hip_atomic_store((WEFT_GLOBAL uint32_t*)p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
WEFT_DEV void note64(uint64_t* p, uint64_t v) { post64(p, v); }
WEFT_DEV void note32(uint32_t* p, uint32_t v) { post32(p, v); }

// This wave's loads and stores are complete. A barrier does not wait for them on gfx9.
WEFT_DEV void wait_memory() {
#if defined(__GFX12__)
  asm volatile("s_wait_loadcnt 0x0\n\ts_wait_storecnt 0x0" ::: "memory");
#elif defined(__GFX10__) || defined(__GFX11__)
  asm volatile("s_waitcnt vmcnt(0)\n\ts_waitcnt_vscnt null, 0x0" ::: "memory");
#else
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#endif
}

// In scalar registers: the compiler does not always see that lanes agree.
template <class Value>
WEFT_DEV Value same_in_wave(const Value& value) {
  struct Words {
    int w[sizeof(Value) / sizeof(int)];
  };
  auto words = __builtin_bit_cast(Words, value);
  for (int& word : words.w) word = __builtin_amdgcn_readfirstlane(word);
  return __builtin_bit_cast(Value, words);
}

WEFT_DEV int lowest_bit(uint32_t mask) { return __builtin_ctz(mask); }

WEFT_DEV void acquire_system() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, ""); }
// The wait after the write-back is explicit: the compiler leaves it out when it sees nothing
// outstanding.
WEFT_DEV void release_system() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  wait_memory();
}
WEFT_DEV void acquire_device() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent"); }
WEFT_DEV void release_device() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  wait_memory();
}

// Orders both ways. By fences: for an acquire-release addition the compiler leaves out the wait
// behind its write-back, as above.
WEFT_DEV uint32_t add_device32(uint32_t* p, uint32_t v) {
  release_device();
  const uint32_t before = __hip_atomic_fetch_add((WEFT_GLOBAL uint32_t*)p, v, __ATOMIC_RELAXED,
                                                 __HIP_MEMORY_SCOPE_AGENT);
  acquire_device();
  return before;
}

WEFT_DEV void count_device32(uint32_t* p, uint32_t v) {
  __hip_atomic_fetch_add((WEFT_GLOBAL uint32_t*)p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
WEFT_DEV void count_device64(uint64_t* p, uint64_t v) {
  __hip_atomic_fetch_add((WEFT_GLOBAL uint64_t*)p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

WEFT_DEV void poll_miss(const void*) { __builtin_amdgcn_s_sleep(1); }
WEFT_DEV void poll_hit() {}

// The constant clock of 100 MHz.
WEFT_DEV uint64_t clock_ns() {
#if defined(__GFX11__) || defined(__GFX12__)
  return __builtin_amdgcn_s_sendmsg_rtnl(0x83) * 10;
#else
  return __builtin_amdgcn_s_memrealtime() * 10;
#endif
}

// Conversions by instruction (device/types.h). Kernels start in the mode that rounds to nearest
// even and keeps subnormals.
struct Native {
  static WEFT_DEV float half_to_float(uint16_t code) {
    return static_cast<float>(__builtin_bit_cast(_Float16, code));
  }
  static WEFT_DEV uint16_t float_to_half(float value) {
    return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
  }
};

// Kernels that this architecture is never asked for have no body: of the two fp8 encodings a
// communicator uses the one that architecture.h names. They would be a third of the code.
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
constexpr bool kFp8IsFnuz = true;
#else
constexpr bool kFp8IsFnuz = false;
#endif
// Of a kernel, all that it is made of.
template <class Part>
constexpr bool kRunsHere = true;
template <template <class...> class Whole, class... Parts>
constexpr bool kRunsHere<Whole<Parts...>> = (kRunsHere<Parts> && ...);
template <>
inline constexpr bool kRunsHere<Fp8E4m3> = !kFp8IsFnuz;
template <>
inline constexpr bool kRunsHere<Fp8E5m2> = !kFp8IsFnuz;
template <>
inline constexpr bool kRunsHere<Fp8E4m3Fnuz> = kFp8IsFnuz;
template <>
inline constexpr bool kRunsHere<Fp8E5m2Fnuz> = kFp8IsFnuz;

template <class Body>
constexpr bool kBodyRunsHere = kRunsHere<Body>;

// What gpu/block.h is made of.
//
// Release, barrier, acquire within the workgroup: where a workgroup spans two compute units there
// are two first-level caches.
WEFT_DEV void block_sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
WEFT_DEV void lane_drain() { wait_memory(); }
// Said to be local memory: through a generic pointer a volatile access is a flat one, which waits
// for global memory too.
using SharedWord = volatile WEFT_LOCAL uint32_t;

// Waves that a SIMD must hold: so that a kernel takes at most 128 vector registers. On gfx9 four
// leave each other so many; on gfx11 and gfx12 ten leave 144, twelve 120, with which fp8 spills.
#if defined(__GFX11__) || defined(__GFX12__)
constexpr int kWaves = 10;
#else
constexpr int kWaves = 4;
#endif

#define WEFT_KERNEL_BOUNDS(Body) __launch_bounds__(kMaxThreads, kWaves)
#define WEFT_KERNEL_ARGUMENT

#endif  // __HIP__

}  // namespace weft::platform

#ifdef __HIP__
#include "../gpu/block.h"
#include "../gpu/lines.h"
#endif
