// The table of kernels (kernels.h), in the order of ElementType.
#include "device/kernels.h"

#include "architecture.h"

namespace weft {

// Defined in instance.cc, once a type.
#define WEFT_KERNELS_OF(Type) \
  template <>                 \
  KernelSet kernels_of_type<Type>();
WEFT_KERNELS_OF(Uint8)
WEFT_KERNELS_OF(Uint32)
WEFT_KERNELS_OF(Uint64)
WEFT_KERNELS_OF(Float16)
WEFT_KERNELS_OF(Bfloat16)
WEFT_KERNELS_OF(Float32)
WEFT_KERNELS_OF(Float64)
WEFT_KERNELS_OF(Fp8E4m3)
WEFT_KERNELS_OF(Fp8E5m2)
WEFT_KERNELS_OF(Fp8E4m3Fnuz)
WEFT_KERNELS_OF(Fp8E5m2Fnuz)
#undef WEFT_KERNELS_OF

namespace {

// Null pointers where the platform has no device for the type.
template <class Type>
KernelSet fnuz_kernels() {
  if constexpr (platform::kHasFnuz) {
    return kernels_of_type<Type>();
  } else {
    return {};
  }
}

const KernelSet& kernels(ElementType type) {
  static const KernelSet sets[kElementTypeCount] = {
      kernels_of_type<Uint8>(),    kernels_of_type<Uint32>(),   kernels_of_type<Uint64>(),
      kernels_of_type<Float16>(),  kernels_of_type<Bfloat16>(), kernels_of_type<Float32>(),
      kernels_of_type<Float64>(),  kernels_of_type<Fp8E4m3>(),  kernels_of_type<Fp8E5m2>(),
      fnuz_kernels<Fp8E4m3Fnuz>(), fnuz_kernels<Fp8E5m2Fnuz>()};
  return sets[int(type)];
}

}  // namespace

const void* kernel_of(Protocol protocol, ElementType type) {
  return kernels(type).kernel[int(protocol)];
}

const void* one_hop_sum_of(Protocol protocol, ElementType type) {
  return kernels(type).one_hop_sum[int(protocol)];
}

}  // namespace weft
