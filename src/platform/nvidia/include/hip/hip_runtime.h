/* What a HIP program includes. nvcc itself knows the words of device code; this adds the API
 * (hip_runtime_api.h) and HIP's spellings of a launch. */
#ifndef WEFT_NVIDIA_HIP_RUNTIME_H_
#define WEFT_NVIDIA_HIP_RUNTIME_H_

#include <hip/hip_runtime_api.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>

#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(x) x
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...) \
  kernel<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)
#endif

#endif
