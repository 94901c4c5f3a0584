// The kernels of one element type. Compiled once a type with -DWEFT_INSTANCE_TYPE=...; holds
// nothing else.
#include "device/kernel.h"
#include "device/kernels.h"
#include "device/ll.h"
#include "device/ll128.h"
#include "device/one_hop.h"
#include "device/simple.h"

namespace weft {
namespace {

template <class Protocol>
const void* address() {
  using Kernel = CollectiveKernel<Protocol, WEFT_INSTANCE_TYPE>;
  return platform::kernel_address<Kernel, CollectiveArgs>();
}
template <class Format>
const void* one_hop_sum() {
  return one_hop_kernel<Format, Folded<WEFT_INSTANCE_TYPE>>();
}

}  // namespace

template <>
KernelSet kernels_of_type<WEFT_INSTANCE_TYPE>() {
  return {{address<Ll>(), address<Ll128>(), address<Simple>()},
          {one_hop_sum<LlFormat>(), one_hop_sum<Ll128Format>(), nullptr}};
}

}  // namespace weft
