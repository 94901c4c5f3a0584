// Which kernels and which argument of them a (type, op) pair of the C API means. Owns: the mapping
// from ncclDataType_t and ncclRedOp_t to device/kernels.h and device/op_arg.h. Does not own: the
// arithmetic.
#pragma once

#include <rccl/rccl.h>

#include "device/kernels.h"
#include "device/op_arg.h"
#include "user_ops.h"

namespace weft {

struct Reduction {
  ElementType element;
  OpArg arg;
};

// `type` and `op` are valid (validate.h).
struct ReductionKey {
  ncclDataType_t type;
  ncclRedOp_t op;
  const UserOp* user = nullptr;  // what `op` means when it is none of the library's; of type `type`
  int ranks;
  bool fnuz;                              // the devices of this communicator read fp8 as FNUZ
  Partials partials = Partials::kOnWire;  // of the pattern: only an average depends on it
};
Reduction make_reduction(const ReductionKey& key);

}  // namespace weft
