/* Qualifiers of HIP programs. On the host every function is an ordinary one. */
#ifndef HIP_HOST_COMMON_H_
#define HIP_HOST_COMMON_H_
#define __HIP_PLATFORM_HOST__ 1
#ifndef __host__
#define __host__
#endif
#ifndef __device__
#define __device__
#endif
#ifndef __global__
#define __global__
#endif
#ifndef __constant__
#define __constant__
#endif
#ifndef __managed__
#define __managed__
#endif
#ifndef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#endif
#ifndef __launch_bounds__
#define __launch_bounds__(...)
#endif
#endif
