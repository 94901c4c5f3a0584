// Which kernel body and which scales a (type, op) pair of the C API means. Owns: the mapping from
// ncclDataType_t and ncclRedOp_t to device/kernels.h and device/op_arg.h. Does not own: the
// arithmetic.
#pragma once

#include <rccl/rccl.h>

#include "device/kernels.h"
#include "device/op_arg.h"

namespace weft {

struct Reduction {
  ElementType element;
  OpBody body;
  OpArg arg;
};

// `fnuz`: the devices of this communicator read fp8 as FNUZ. `type` and `op` are valid
// (validate.h).
Reduction make_reduction(ncclDataType_t type, ncclRedOp_t op, int ranks, bool fnuz);

}  // namespace weft
