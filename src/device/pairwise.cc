// The kernel of messages. Compiled by the platform, as instance.cc; holds nothing else.
#include "device/pairwise.h"

#include "device/kernels.h"

namespace weft {

const void* pairwise_kernel() { return platform::kernel_address<PairwiseKernel, PairwiseArgs>(); }

}  // namespace weft
