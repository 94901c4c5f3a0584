// The kernels of the library, chosen on the host. Owns: the names of protocols and element types
// that a kernel exists for. instance.cc makes the kernels of one type, kernels.cc
// collects them.
#pragma once

#include <cstdint>

#include "device/types.h"

namespace weft {

enum class Protocol : uint8_t { kLl, kLl128, kSimple };
inline constexpr int kProtocolCount = 3;

// Signed and unsigned integers share a kernel, as all operations do (op_arg.h).
enum class ElementType : uint8_t {
  kInt8,
  kInt32,
  kInt64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kFp8E4m3,
  kFp8E5m2,
  kFp8E4m3Fnuz,
  kFp8E5m2Fnuz,
};
inline constexpr int kElementTypeCount = 11;

// What hipLaunchKernel takes, by protocol.
struct KernelSet {
  const void* kernel[kProtocolCount];
  const void* one_hop_sum[kProtocolCount];  // not of Simple
};

// Of one element type; defined by instance.cc, compiled once a type.
template <class Type>
KernelSet kernels_of_type();

// Null for a type that no device of the platform has.
const void* kernel_of(Protocol protocol, ElementType type);

// Of sums, and of operations that do not reduce, in one hop over LL or LL128 (one_hop.h). Null for
// what has none.
const void* one_hop_sum_of(Protocol protocol, ElementType type);
const void* one_hop_copy_of(Protocol protocol);

// Of messages (pairwise.h), whatever the type.
const void* pairwise_kernel();
const void* short_messages_kernel();  // where all go by lines (short_messages.h)

}  // namespace weft
