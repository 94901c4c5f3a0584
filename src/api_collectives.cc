// The C entry points that move data. Each makes a Request; the group does the rest. Next on the
// path of ncclAllReduce: validate.h, group.h, planner.cc.
#include "all_to_all_v.h"
#include "api_guard.h"

namespace weft {
namespace {

ncclResult_t enqueue(const char* function, ncclComm_t handle, Request request) {
  return guard_in_group([&] {
    validate(function, *communicator_of(handle, function), request);
    Group::current().add(handle, request);
    return ncclSuccess;
  });
}

ncclResult_t all_to_all(const char* function, const void* sendbuff, void* recvbuff, size_t count,
                        ncclDataType_t type, ncclComm_t comm, hipStream_t stream) {
  return enqueue(function, comm,
                 {Collective::kAllToAll, sendbuff, recvbuff, count, type, ncclSum, 0, stream});
}

// One group, so that the sends of a rank do not wait for its own receives.
ncclResult_t all_to_all_v(const char* function, ncclComm_t handle, const AllToAllV& call) {
  return guard_in_group([&] {
    const std::vector<Request> requests =
        requests_of(function, *communicator_of(handle, function), call);
    Group& group = Group::current();
    group.start();
    try {
      for (const Request& request : requests) group.add(handle, request);
    } catch (const std::exception& error) {
      group.note_failure(ncclSystemError, error.what());
    }
    return group.end();
  });
}

}  // namespace
}  // namespace weft

using namespace weft;

WEFT_API(ncclAllReduce)
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           hipStream_t stream) {
  return enqueue("ncclAllReduce", comm,
                 {Collective::kAllReduce, sendbuff, recvbuff, count, datatype, op, 0, stream});
}

WEFT_API(ncclAllReduceWithBias)
ncclResult_t ncclAllReduceWithBias(const void* sendbuff, void* recvbuff, size_t count,
                                   ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                   hipStream_t stream, const void* acc) {
  if (acc == nullptr)
    return guard_in_group(
        []() -> ncclResult_t { fail(ncclInvalidArgument, "ncclAllReduceWithBias: acc is NULL"); });
  return enqueue("ncclAllReduceWithBias", comm,
                 {Collective::kAllReduce, sendbuff, recvbuff, count, datatype, op, 0, stream, acc});
}

WEFT_API(ncclReduce)
ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, hipStream_t stream) {
  return enqueue("ncclReduce", comm,
                 {Collective::kReduce, sendbuff, recvbuff, count, datatype, op, root, stream});
}

WEFT_API(ncclBroadcast)
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm, hipStream_t stream) {
  return enqueue(
      "ncclBroadcast", comm,
      {Collective::kBroadcast, sendbuff, recvbuff, count, datatype, ncclSum, root, stream});
}

WEFT_API(ncclBcast)
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       hipStream_t stream) {
  return enqueue("ncclBcast", comm,
                 {Collective::kBroadcast, buff, buff, count, datatype, ncclSum, root, stream});
}

WEFT_API(ncclReduceScatter)
ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               hipStream_t stream) {
  return enqueue(
      "ncclReduceScatter", comm,
      {Collective::kReduceScatter, sendbuff, recvbuff, recvcount, datatype, op, 0, stream});
}

WEFT_API(ncclAllGather)
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream) {
  return enqueue(
      "ncclAllGather", comm,
      {Collective::kAllGather, sendbuff, recvbuff, sendcount, datatype, ncclSum, 0, stream});
}

WEFT_API(ncclAlltoAll)
ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream) {
  return all_to_all("ncclAlltoAll", sendbuff, recvbuff, count, datatype, comm, stream);
}

WEFT_API(ncclAllToAll)
ncclResult_t ncclAllToAll(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream) {
  return all_to_all("ncclAllToAll", sendbuff, recvbuff, count, datatype, comm, stream);
}

WEFT_API(ncclAlltoAllv)
ncclResult_t ncclAlltoAllv(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                           void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                           ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream) {
  return all_to_all_v(
      "ncclAlltoAllv", comm,
      {sendbuff, sendcounts, sdispls, recvbuff, recvcounts, rdispls, datatype, stream});
}

WEFT_API(ncclAllToAllv)
ncclResult_t ncclAllToAllv(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                           void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                           ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream) {
  return all_to_all_v(
      "ncclAllToAllv", comm,
      {sendbuff, sendcounts, sdispls, recvbuff, recvcounts, rdispls, datatype, stream});
}

WEFT_API(ncclGather)
ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, hipStream_t stream) {
  return enqueue("ncclGather", comm,
                 {Collective::kGather, sendbuff, recvbuff, count, datatype, ncclSum, root, stream});
}

WEFT_API(ncclScatter)
ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, hipStream_t stream) {
  return enqueue(
      "ncclScatter", comm,
      {Collective::kScatter, sendbuff, recvbuff, count, datatype, ncclSum, root, stream});
}

WEFT_API(ncclSend)
ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, hipStream_t stream) {
  return enqueue("ncclSend", comm,
                 {Collective::kSend, sendbuff, nullptr, count, datatype, ncclSum, peer, stream});
}

WEFT_API(ncclRecv)
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, hipStream_t stream) {
  return enqueue("ncclRecv", comm,
                 {Collective::kRecv, nullptr, recvbuff, count, datatype, ncclSum, peer, stream});
}
