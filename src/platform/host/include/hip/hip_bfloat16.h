/* The older name of hip_bf16.h. */
#ifndef HIP_HOST_BFLOAT16_H_
#define HIP_HOST_BFLOAT16_H_
#include <hip/hip_bf16.h>
#endif
