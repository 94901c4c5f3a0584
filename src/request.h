// One call that moves data, as the user made it. Made by api_collectives.cc, checked by
// validate.cc, kept by the group until it ends, turned into device work by planner.cc.
#pragma once

#include <rccl/rccl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "algorithms/schedule/steps.h"
#include "user_ops.h"

namespace weft {

struct Request {
  Collective collective;
  const void* input;
  void* output;
  size_t count;  // elements of one segment (collective.h)
  ncclDataType_t type;
  ncclRedOp_t op;  // ncclSum where nothing is reduced
  int root;        // of Send and Recv the peer; 0 where there is none
  hipStream_t stream;
  const void* bias = nullptr;  // of AllReduceWithBias: added once to what was reduced
  std::optional<UserOp> user_op = std::nullopt;  // what `op` means when it is one of the program's
  std::shared_ptr<const ScheduleSteps> schedule = nullptr;  // null: the library chooses
};

// Equal on all ranks for equal calls. Numbers of a program's own ops are not: each rank made its
// own.
inline int op_for_signature(const Request& request) {
  return request.user_op ? int(ncclNumOps) : int(request.op);
}

// "AllReduce of 1024 ncclFloat32, ncclSum": for messages.
std::string describe(const Request& request);

size_t type_bytes(ncclDataType_t type);  // 0 for what is no type
const char* type_name(ncclDataType_t type);
const char* op_name(ncclRedOp_t op);

}  // namespace weft
