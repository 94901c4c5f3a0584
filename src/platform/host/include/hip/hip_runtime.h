/* What a HIP program includes. Beside the API: the built-in variables of a kernel, __syncthreads,
 * and launching an ordinary kernel by name with hipLaunchKernelGGL or hipLaunchKernel. An ordinary
 * kernel runs one fiber per thread. Its threads must not spin on memory without hipHostPollMiss
 * (hip_host.h). `__shared__` variables are one copy per worker thread: a worker runs one such block
 * at a time and starts another only when that one waits for other blocks. */
#ifndef HIP_HOST_RUNTIME_H_
#define HIP_HOST_RUNTIME_H_

#include <hip/hip_host.h>
#include <hip/hip_runtime_api.h>
#include <hip/hip_vector_types.h>

#ifdef __cplusplus
#include <string.h>

#include <tuple>
#include <type_traits>
#include <utility>

#ifndef __shared__
#define __shared__ static thread_local
#endif
#define HIP_DYNAMIC_SHARED(type, name) type* name = static_cast<type*>(hipHostThisLane()->shared)

namespace hip_host {
/* threadIdx and its kin are objects (members of HIP structures bear their names, so macros cannot
 * be), each of whose coordinates reads the calling lane when it is used as a number. */
typedef unsigned Triple[3];
template <Triple hipHostLane::*Field, unsigned Axis>
struct Coordinate {
  operator unsigned() const { return (hipHostThisLane()->*Field)[Axis]; }
};
template <Triple hipHostLane::*Field>
struct Variable {
  Coordinate<Field, 0> x;
  Coordinate<Field, 1> y;
  Coordinate<Field, 2> z;
  operator dim3() const { return dim3(x, y, z); }
};
}  // namespace hip_host
inline constexpr hip_host::Variable<&hipHostLane::thread_idx> threadIdx{};
inline constexpr hip_host::Variable<&hipHostLane::block_idx> blockIdx{};
inline constexpr hip_host::Variable<&hipHostLane::block_size> blockDim{};
inline constexpr hip_host::Variable<&hipHostLane::grid_size> gridDim{};

inline void __syncthreads() { hipHostBarrier(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

template <class T>
inline T atomicAdd(T* address, T value) {
  if constexpr (std::is_integral_v<T>) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  } else {
    T seen, next;
    __atomic_load(address, &seen, __ATOMIC_RELAXED);
    do {
      next = seen + value;
    } while (!__atomic_compare_exchange(address, &seen, &next, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return seen;
  }
}
template <class T>
inline T atomicExch(T* address, T value) {
  T old;
  __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
  return old;
}
template <class T>
inline T atomicCAS(T* address, T expected, T value) {
  __atomic_compare_exchange(address, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

namespace hip_host {

/* The arguments of one launch, copied as bytes; `run` unpacks them in every thread. */
template <class... P>
struct Call {
  static_assert((std::is_trivially_copyable_v<std::decay_t<P>> && ...),
                "kernel parameters are copied as bytes");
  void (*function)(P...);
  std::tuple<std::decay_t<P>...> arguments;

  static void run(const void* call) {
    const Call& c = *static_cast<const Call*>(call);
    std::apply(c.function, c.arguments);
  }
  static const hipHostKernel* kernel() {
    static const hipHostKernel k = {hipHostKernelMagic, "__global__ function", &run, sizeof(Call),
                                    0};
    return &k;
  }
};

template <class... P, size_t... I>
inline Call<P...> call_of(void (*function)(P...), void** args, std::index_sequence<I...>) {
  return Call<P...>{function, {*static_cast<const std::decay_t<P>*>(args[I])...}};
}

}  // namespace hip_host

template <class... P>
inline hipError_t hipLaunchKernel(void (*function)(P...), dim3 grid, dim3 block, void** args,
                                  size_t shared_bytes = 0, hipStream_t stream = nullptr) {
  auto call = hip_host::call_of(function, args, std::index_sequence_for<P...>{});
  void* packed[] = {&call};
  return hipLaunchKernel(static_cast<const void*>(call.kernel()), grid, block, packed, shared_bytes,
                         stream);
}

template <class... P, class... A>
inline void hipLaunchKernelGGL(void (*function)(P...), dim3 grid, dim3 block,
                               unsigned int shared_bytes, hipStream_t stream, A&&... args) {
  hip_host::Call<P...> call{function, {static_cast<std::decay_t<P>>(std::forward<A>(args))...}};
  void* packed[] = {&call};
  (void)hipLaunchKernel(static_cast<const void*>(call.kernel()), grid, block, packed, shared_bytes,
                        stream); /* as in HIP the error is the thread's last error */
}

#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(x) x

#endif /* __cplusplus */
#endif
