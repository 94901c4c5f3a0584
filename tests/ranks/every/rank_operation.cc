// A rank's memory and calls (rank_operation.h).
#include "rank_operation.h"

#include <fmt/format.h>

#include "../../support/local_ranks.h"

namespace weft::test {

RankOperation::RankOperation(const Operation& operation, int rank, int ranks)
    : operation_(operation), rank_(rank), ranks_(ranks), part_(part_of(operation, rank, ranks)) {
  for (const Memory& memory : part_.memories)
    buffers_.push_back(std::make_unique<GuardedBuffer>(memory.after.size(), memory.offset));
  if (operation.scalar == Scalar::kDevice) {
    device_scalar_ = std::make_unique<GuardedBuffer>(sizeof part_.scalar, 0);
    const auto* scalar = reinterpret_cast<const char*>(&part_.scalar);
    device_scalar_->write({scalar, scalar + sizeof part_.scalar});
  }
  refill();
}

void RankOperation::refill() const {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Memory& memory = part_.memories[i];
    buffers_[i]->write(memory.before.empty() ? Bytes(memory.after.size(), GuardedBuffer::kFill)
                                             : memory.before);
  }
}

std::string RankOperation::check() const {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const std::string wrong = buffers_[i]->compare(
        part_.memories[i].after, kind_of(operation_.type, devices_are_fnuz()).bytes);
    if (!wrong.empty())
      return fmt::format("rank {} of {}, {}: memory {}: {}", rank_, ranks_, operation_.text(), i,
                         wrong);
  }
  return "";
}

void* RankOperation::address(const Place& place) const {
  if (place.memory < 0) return nullptr;
  return static_cast<char*>(buffers_[size_t(place.memory)]->data()) + place.at;
}

ncclRedOp_t RankOperation::make_op(ncclComm_t comm) {
  if (operation_.scalar == Scalar::kNone) return operation_.op;
  ncclRedOp_t op;
  uint64_t on_host = part_.scalar;  // gone when this returns
  const bool device = operation_.scalar == Scalar::kDevice;
  require_ok(ncclRedOpCreatePreMulSum(
                 &op, device ? device_scalar_->data() : static_cast<void*>(&on_host),
                 operation_.type, device ? ncclScalarDevice : ncclScalarHostImmediate, comm),
             "ncclRedOpCreatePreMulSum");
  return op;
}

void RankOperation::issue(ncclComm_t comm, hipStream_t stream) {
  require_ok(call(comm, stream), "the call");
}

ncclResult_t RankOperation::call(ncclComm_t comm, hipStream_t stream) {
  const void* send = address(part_.send);
  void* receive = address(part_.receive);
  const Operation& o = operation_;
  if (o.schedule != 0 && !reduces(o.call)) return call_schedule(ncclSum, comm, stream);
  switch (o.call) {
    case Call::kAllGather:
      return ncclAllGather(send, receive, o.count, o.type, comm, stream);
    case Call::kBroadcast:
      if (o.in_place) return ncclBcast(receive, o.count, o.type, o.root, comm, stream);
      return ncclBroadcast(send, receive, o.count, o.type, o.root, comm, stream);
    case Call::kAlltoAll:
      return (o.bit(2) ? ncclAllToAll : ncclAlltoAll)(send, receive, o.count, o.type, comm, stream);
    case Call::kGather:
      return ncclGather(send, receive, o.count, o.type, o.root, comm, stream);
    case Call::kScatter:
      return ncclScatter(send, receive, o.count, o.type, o.root, comm, stream);
    case Call::kAlltoAllv:
      return call_all_to_all_v(comm, stream);
    case Call::kMessages:
      return call_messages(comm, stream);
    default:
      break;
  }
  const ncclRedOp_t op = make_op(comm);
  const ncclResult_t result = call_reduction(op, comm, stream);
  if (o.scalar != Scalar::kNone) require_ok(ncclRedOpDestroy(op, comm), "ncclRedOpDestroy");
  return result;
}

ncclResult_t RankOperation::call_reduction(ncclRedOp_t op, ncclComm_t comm, hipStream_t stream) {
  const void* send = address(part_.send);
  void* receive = address(part_.receive);
  const Operation& o = operation_;
  if (o.schedule != 0) return call_schedule(op, comm, stream);
  if (o.call == Call::kReduce)
    return ncclReduce(send, receive, o.count, o.type, op, o.root, comm, stream);
  if (o.call == Call::kReduceScatter)
    return ncclReduceScatter(send, receive, o.count, o.type, op, comm, stream);
  if (o.call == Call::kAllReduceWithBias)
    return ncclAllReduceWithBias(send, receive, o.count, o.type, op, comm, stream,
                                 address(part_.bias));
  return ncclAllReduce(send, receive, o.count, o.type, op, comm, stream);
}

ncclResult_t RankOperation::call_schedule(ncclRedOp_t op, ncclComm_t comm, hipStream_t stream) {
  return mscclRunAlgo(address(part_.send), nullptr, nullptr, address(part_.receive), nullptr,
                      nullptr, operation_.count, operation_.type, 0, 0, op, operation_.schedule,
                      comm, stream);
}

// Sends and receives of a pair in the order of the list; how sends and receives mix is free.
ncclResult_t RankOperation::call_messages(ncclComm_t comm, hipStream_t stream) {
  auto* send = static_cast<char*>(address(part_.send));
  auto* receive = static_cast<char*>(address(part_.receive));
  const auto pass = [&](bool sends, bool receives) {
    for (size_t i = 0; i < operation_.messages.size(); ++i) {
      const auto& [from, to, count] = operation_.messages[i];
      if (receives && to == rank_)
        require_ok(
            ncclRecv(receive + part_.receive_at[i], count, operation_.type, from, comm, stream),
            "ncclRecv");
      if (sends && from == rank_)
        require_ok(ncclSend(send + part_.send_at[i], count, operation_.type, to, comm, stream),
                   "ncclSend");
    }
  };
  // One message between two ranks needs no group.
  const auto& first = operation_.messages.front();
  const bool alone = operation_.messages.size() == 1 && first.from != first.to && operation_.bit(3);
  if (!alone) require_ok(ncclGroupStart(), "ncclGroupStart");
  const uint64_t order = mix(operation_.seed ^ uint64_t(rank_)) % 3;
  if (order == 0) pass(true, true);
  if (order == 1) pass(true, false), pass(false, true);
  if (order == 2) pass(false, true), pass(true, false);
  return alone ? ncclSuccess : ncclGroupEnd();
}

ncclResult_t RankOperation::call_all_to_all_v(ncclComm_t comm, hipStream_t stream) {
  const size_t element = kind_of(operation_.type, devices_are_fnuz()).bytes;
  const auto n = size_t(ranks_);
  std::vector<size_t> sends(n), send_at(n), receives(n), receive_at(n);
  for (size_t i = 0; i < operation_.messages.size(); ++i) {
    const auto& [from, to, count] = operation_.messages[i];
    if (from == rank_) sends[size_t(to)] = count, send_at[size_t(to)] = part_.send_at[i] / element;
    if (to == rank_)
      receives[size_t(from)] = count, receive_at[size_t(from)] = part_.receive_at[i] / element;
  }
  return (operation_.bit(2) ? ncclAllToAllv : ncclAlltoAllv)(
      address(part_.send), sends.data(), send_at.data(), address(part_.receive), receives.data(),
      receive_at.data(), operation_.type, comm, stream);
}

}  // namespace weft::test
