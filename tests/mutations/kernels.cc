// Kernels whose machine code is read when the code is broken on purpose: one of each protocol, not
// all types and operations. Compiled in the place of src/device/instance.cc, with
// -DWEFT_MUTATED=kernel,...
#include "device/kernel.h"
#include "device/ll.h"
#include "device/ll128.h"
#include "device/one_hop.h"
#include "device/simple.h"

namespace weft {
namespace {

template <class Body, class Args>
struct Kernel {
  static const void* address() { return platform::kernel_address<Body, Args>(); }
};
template <class Protocol>
using OfEngine = Kernel<CollectiveKernel<Protocol, Float32>, CollectiveArgs>;
template <class Format>
using OfOneHop = Kernel<OneHopKernel<Format, Folded<Float32>>, OneHopArgs>;

using SimpleKernel = OfEngine<Simple>;
using LlKernel = OfEngine<Ll>;
using Ll128Kernel = OfEngine<Ll128>;
using OneHopLlKernel = OfOneHop<LlFormat>;
using OneHopLl128Kernel = OfOneHop<Ll128Format>;

template <class... Which>
struct Kernels {
  static inline const void* const addresses[] = {Which::address()...};
};

}  // namespace

const void* const* mutated_kernels() { return Kernels<WEFT_MUTATED>::addresses; }

}  // namespace weft
