// The kernels of one element type. Compiled once a type with -DWEFT_INSTANCE_TYPE=...; holds
// nothing else.
#include "device/kernel.h"
#include "device/kernels.h"
#include "device/ll.h"
#include "device/ll128.h"
#include "device/one_shot.h"
#include "device/simple.h"

namespace weft {
namespace {

template <class ChannelOfWork>
const void* address_of() {
  return platform::kernel_address<CollectiveKernel<ChannelOfWork>, CollectiveArgs>();
}
template <class Protocol, class Op>
const void* address() {
  return address_of<Channel<Protocol, WEFT_INSTANCE_TYPE, Op>>();
}

}  // namespace

template <>
KernelSet kernels_of_type<WEFT_INSTANCE_TYPE>() {
  return {{{address<Ll, Sum>(), address<Ll, ProdOrMinMax>()},
           {address<Ll128, Sum>(), address<Ll128, ProdOrMinMax>()},
           {address<Simple, Sum>(), address<Simple, ProdOrMinMax>()}},
          address_of<OneShot<WEFT_INSTANCE_TYPE, Sum>>()};
}

}  // namespace weft
