// One call of a collective, as the user made it. Made by api.cc, checked by validate.cc, kept by
// the group until it ends, turned into device work by planner.cc.
#pragma once

#include <rccl/rccl.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "algorithms/collective.h"

namespace weft {

struct Request {
  Collective collective;
  const void* input;
  void* output;
  size_t count;  // elements of each rank
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;  // 0 where there is none
  hipStream_t stream;
};

// "AllReduce of 1024 ncclFloat32, ncclSum": for messages.
std::string describe(const Request& request);

size_t type_bytes(ncclDataType_t type);  // 0 for what is no type
const char* type_name(ncclDataType_t type);
const char* op_name(ncclRedOp_t op);

}  // namespace weft
