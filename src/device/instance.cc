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

template <class Protocol, class Op>
const void* address() {
  using Kernel = CollectiveKernel<Protocol, WEFT_INSTANCE_TYPE, Op>;
  return platform::kernel_address<Kernel, CollectiveArgs>();
}
template <class Format>
const void* one_hop_sum() {
  return one_hop_kernel<Format, Folded<WEFT_INSTANCE_TYPE, Sum>>();
}

}  // namespace

template <>
KernelSet kernels_of_type<WEFT_INSTANCE_TYPE>() {
  return {{{address<Ll, Sum>(), address<Ll, ProdOrMinMax>()},
           {address<Ll128, Sum>(), nullptr},
           {address<Simple, Sum>(), address<Simple, ProdOrMinMax>()}},
          {one_hop_sum<LlFormat>(), one_hop_sum<Ll128Format>(), nullptr}};
}

}  // namespace weft
