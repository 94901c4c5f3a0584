// Reductions that a program made with ncclRedOpCreatePreMulSum. Owns: which a communicator has, and
// under which ncclRedOp_t. Does not own: what they compute (reduction.h). A request keeps a copy of
// the op that it names, so that destroying one never concerns operations that were already issued.
#pragma once

#include <rccl/rccl.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace weft {

// Every rank's contribution is multiplied by its scalar, then summed.
struct UserOp {
  ncclDataType_t type;
  bool in_memory;   // `scalar` is the device address of one element, read when the operation runs
  uint64_t scalar;  // else: the bytes of one element, the first byte lowest
};

// The ops of one communicator. Any thread. A number is used once in a process (until 2^31 were
// made), so that an op of another communicator, or a destroyed one, is never taken for a live one.
class UserOps {
 public:
  ncclRedOp_t add(const UserOp& op);
  std::optional<UserOp> find(ncclRedOp_t op) const;
  bool remove(ncclRedOp_t op);  // false: there is none

 private:
  mutable std::mutex mutex_;
  std::map<int, UserOp> ops_;
};

// Reads the scalar, or keeps its address. Throws Error(ncclInvalidArgument) for what is no type, no
// residence, or no memory of that residence.
UserOp make_user_op(const char* function, const void* scalar, ncclDataType_t type,
                    ncclScalarResidence_t residence);

}  // namespace weft
