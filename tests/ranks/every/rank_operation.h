// One rank's part of an operation under test (operation.h): its memory, the call, the check.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../../support/guarded_buffer.h"
#include "operation.h"

namespace weft::test {

// Made, issued, checked and freed with the rank's device current.
class RankOperation {
 public:
  RankOperation(const Operation& operation, int rank, int ranks);

  // Issues the call, in a group of its own where messages need one. Throws what it answers.
  void issue(ncclComm_t comm, hipStream_t stream);
  ncclResult_t call(ncclComm_t comm, hipStream_t stream);
  // Memory as it was before the call.
  void refill() const;

  // "" when the memory is as it must be and nothing beside it was written.
  std::string check() const;

 private:
  void* address(const Place& place) const;
  ncclRedOp_t make_op(ncclComm_t comm);
  ncclResult_t call_reduction(ncclRedOp_t op, ncclComm_t comm, hipStream_t stream);
  ncclResult_t call_schedule(ncclRedOp_t op, ncclComm_t comm, hipStream_t stream);
  ncclResult_t call_messages(ncclComm_t comm, hipStream_t stream);
  ncclResult_t call_all_to_all_v(ncclComm_t comm, hipStream_t stream);

  const Operation operation_;
  const int rank_, ranks_;
  const RankPart part_;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
  std::unique_ptr<GuardedBuffer> device_scalar_;
};

}  // namespace weft::test
