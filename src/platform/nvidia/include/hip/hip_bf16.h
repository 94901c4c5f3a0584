/* __hip_bfloat16 is CUDA's __nv_bfloat16. */
#ifndef WEFT_NVIDIA_HIP_BF16_H_
#define WEFT_NVIDIA_HIP_BF16_H_
#include <cuda_bf16.h>
typedef __nv_bfloat16 __hip_bfloat16;
#endif
