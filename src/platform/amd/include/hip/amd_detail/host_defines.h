// HIP's header of this name, without the one macro that the library does not use and that breaks
// another: libstdc++ 16 writes [[__gnu__::__noinline__]]. For sources without kernels.
#include_next <hip/amd_detail/host_defines.h>
#ifndef __HIP__
#undef __noinline__
#endif
