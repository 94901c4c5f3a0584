/* What the CPU HIP runtime adds to HIP: how a kernel is described to hipLaunchKernel, and how code
 * inside a kernel waits. C and C++. Everything here is exported by libhiphost.so. The rest of HIP
 * is in hip_runtime.h beside this file. */
#ifndef HIP_HOST_H_
#define HIP_HOST_H_

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define hipHostKernelMagic 0x6c656e72656b7468ull

/* A kernel is launched by the address of its descriptor:
 * hipLaunchKernel(&descriptor, grid, block, args, shared_bytes, stream), where args[0] points to
 * arg_bytes bytes that are copied at the call. `run` is entered once by every lane of every block;
 * lanes of a block are fibers of one worker thread. */
typedef struct hipHostKernel {
  uint64_t magic; /* hipHostKernelMagic */
  const char* name;
  void (*run)(const void* args);
  size_t arg_bytes;
  unsigned lanes; /* fibers per block; 0: as many as the launch has threads per block (ordinary HIP
                     kernels) */
} hipHostKernel;

/* Where the calling fiber is. Valid until the kernel ends; NULL outside a kernel. Do not cache
 * across a pause in thread_local. */
typedef struct hipHostLane {
  unsigned block, grid; /* linear index of the block, number of blocks */
  unsigned lane, lanes; /* linear index in the block, fibers in the block */
  unsigned block_dim;   /* threads per block as launched */
  unsigned thread_idx[3], block_idx[3], block_size[3], grid_size[3];
  void* shared; /* zeroed per block at start, hipHostSharedBytes or the launch's shared bytes, the
                   larger */
  int device;
} hipHostLane;
#define hipHostSharedBytes 1024
const hipHostLane* hipHostThisLane(void);

/* A poll of `address` did not see what it waits for. Lets other fibers run; when a whole lap over
 * the fibers of this worker saw no success, sleeps until hipHostNotify rings (any process), at most
 * some 50 ms. Returns at once after hipHostPollHit. */
void hipHostPollMiss(const volatile void* address);
/* The poll succeeded: the next miss starts a new lap. Cheap. */
void hipHostPollHit(void);
/* A store to `address` was made that another fiber, thread or process may wait for. Cheap when
 * nobody sleeps. Any thread. */
void hipHostNotify(const volatile void* address);
/* All lanes of the calling fiber's block; a no-op with one lane. Orders memory among them. */
void hipHostBarrier(void);

/* Faults for tests, set by WEFT_HOST_FAULTS="name[=value],..." (read at the first HIP call) or by
 * hipHostSetFault. */
typedef enum hipHostFault {
  hipHostFaultNoPeer,         /* hipDeviceCanAccessPeer says 0 */
  hipHostFaultLyingPeer,      /* says 1, but stores to a peer's memory are lost (peer mappings are
                                 private copies) */
  hipHostFaultIpcExport,      /* hipIpcGetMemHandle fails */
  hipHostFaultIpcImport,      /* hipIpcOpenMemHandle fails */
  hipHostFaultResidentBlocks, /* at most `value` blocks of a device run at a time */
  hipHostFaultTornLines,      /* lines become visible in pieces */
  hipHostFaultReorderedLines, /* lines become visible in another order than stored */
  hipHostFaultMalloc,         /* the value-th device allocation from now fails */
  hipHostFaultLaunch,         /* the value-th kernel launch from now fails */
  hipHostFaultHoldLaunch,     /* 1: kernel launches stand still, and make it 2, until it is 0 */
  hipHostFaultSlowPolls,      /* a successful poll takes `value` microseconds */
  hipHostFaultLostDevice,     /* every call on device value - 1 fails, but those that only ask which
                                 devices there are or make one current */
  hipHostFaultCount
} hipHostFault;
void hipHostSetFault(hipHostFault fault, int64_t value);
int64_t hipHostGetFault(hipHostFault fault); /* 0: off. Cheap */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
