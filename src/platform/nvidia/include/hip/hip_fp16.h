/* __half and its functions have the same names in HIP and CUDA. */
#ifndef WEFT_NVIDIA_HIP_FP16_H_
#define WEFT_NVIDIA_HIP_FP16_H_
#include <cuda_fp16.h>
#endif
