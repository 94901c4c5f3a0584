/* Part of HIP programs' include list; what it declares elsewhere is in hip_runtime_api.h here. */
#ifndef HIP_HOST_EXT_H_
#define HIP_HOST_EXT_H_
#include <hip/hip_runtime.h>
#endif
