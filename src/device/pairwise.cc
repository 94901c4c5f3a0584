// The kernels that exist once, whatever the type (kernels.h).
#include "device/pairwise.h"

#include "device/kernels.h"
#include "device/one_hop.h"
#include "device/short_messages.h"

namespace weft {

const void* pairwise_kernel() { return platform::kernel_address<PairwiseKernel, PairwiseArgs>(); }

const void* short_messages_kernel() {
  return platform::kernel_address<ShortMessagesKernel, ShortMessageArgs>();
}

const void* one_hop_copy_of(Protocol protocol) {
  if (protocol == Protocol::kLl) return one_hop_kernel<LlFormat, Apart>();
  if (protocol == Protocol::kLl128) return one_hop_kernel<Ll128Format, Apart>();
  return nullptr;
}

}  // namespace weft
