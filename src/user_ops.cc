// The reductions of a program (user_ops.h).
#include "user_ops.h"

#include <atomic>
#include <cstring>

#include "error.h"
#include "pointer_info.h"
#include "request.h"

namespace weft {
namespace {

// Any number from ncclNumOps to ncclMaxRedOp, then from the start again.
int next_number() {
  static std::atomic<uint64_t> made{0};
  constexpr uint64_t kNumbers = uint64_t(ncclMaxRedOp) - uint64_t(ncclNumOps) + 1;
  return int(uint64_t(ncclNumOps) + made.fetch_add(1, std::memory_order_relaxed) % kNumbers);
}

void require_memory(const char* function, const void* scalar, bool in_memory) {
  const MemoryKind kind = pointer_info(scalar).kind;
  if (!in_memory && kind == MemoryKind::kDevice)
    fail(ncclInvalidArgument,
         "{}: scalar {} is device memory, ncclScalarHostImmediate needs host memory", function,
         scalar);
  if (in_memory && kind == MemoryKind::kUnknown)
    fail(
        ncclInvalidArgument,
        "{}: scalar {} is no memory that the runtime knows, ncclScalarDevice needs memory that the "
        "device can read",
        function, scalar);
}

}  // namespace

ncclRedOp_t UserOps::add(const UserOp& op) {
  const std::lock_guard lock(mutex_);
  int number = next_number();
  while (ops_.contains(number)) number = next_number();
  ops_.emplace(number, op);
  return ncclRedOp_t(number);
}

std::optional<UserOp> UserOps::find(ncclRedOp_t op) const {
  const std::lock_guard lock(mutex_);
  const auto at = ops_.find(int(op));
  return at == ops_.end() ? std::nullopt : std::optional(at->second);
}

bool UserOps::remove(ncclRedOp_t op) {
  const std::lock_guard lock(mutex_);
  return ops_.erase(int(op)) != 0;
}

UserOp make_user_op(const char* function, const void* scalar, ncclDataType_t type,
                    ncclScalarResidence_t residence) {
  const size_t bytes = type_bytes(type);
  if (bytes == 0)
    fail(ncclInvalidArgument, "{}: datatype is {}, which is no type", function, int(type));
  if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate)
    fail(ncclInvalidArgument, "{}: residence is {}, which is none", function, int(residence));
  const bool in_memory = residence == ncclScalarDevice;
  require_memory(function, scalar, in_memory);
  UserOp op{type, in_memory, 0};
  if (in_memory) {
    op.scalar = reinterpret_cast<uintptr_t>(scalar);
    if (op.scalar % bytes != 0)
      fail(ncclInvalidArgument, "{}: scalar {} is not aligned to the {} bytes of {}", function,
           scalar, bytes, type_name(type));
  } else {
    std::memcpy(&op.scalar, scalar, bytes);
  }
  return op;
}

}  // namespace weft
