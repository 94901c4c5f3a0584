// The C entry points of a program's own reductions, and what rccl-tests asks about choices.
#include "algorithms/registry.h"
#include "algorithms/select.h"
#include "api_guard.h"

using namespace weft;

namespace {

// By ncclFunc_t.
constexpr Collective kFunctions[] = {Collective::kBroadcast, Collective::kReduce,
                                     Collective::kAllGather, Collective::kReduceScatter,
                                     Collective::kAllReduce};

// A rank alone folds what it has.
Choice choice_of(const Communicator& comm, Collective collective, size_t bytes) {
  if (comm.size() > 1) return comm.selector->choose(collective, bytes);
  return {&algorithms()[size_t(PatternId::kOneShotAllReduce)], Protocol::kSimple};
}

}  // namespace

WEFT_API(ncclRedOpCreatePreMulSum)
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  constexpr const char* kName = "ncclRedOpCreatePreMulSum";
  return guard([&] {
    const auto communicator = communicator_of(comm, kName);
    communicator->require_ready(kName);
    require_pointer(kName, "op", op);
    require_pointer(kName, "scalar", scalar);
    *op = communicator->user_ops.add(make_user_op(kName, scalar, datatype, residence));
    return ncclSuccess;
  });
}

WEFT_API(ncclRedOpDestroy)
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return guard([&] {
    const auto communicator = communicator_of(comm, "ncclRedOpDestroy");
    if (op >= 0 && op < ncclNumOps)
      fail(ncclInvalidArgument, "ncclRedOpDestroy: op {} is the library's own", op_name(op));
    if (!communicator->user_ops.remove(op))
      fail(ncclInvalidArgument,
           "ncclRedOpDestroy: op is {}, which is no operation of this communicator, or was "
           "destroyed",
           int(op));
    return ncclSuccess;
  });
}

// Ids are positions in algorithms() and of Protocol. What NCCL can do besides changes nothing here.
ncclResult_t rcclGetAlgoInfo(ncclComm_t comm, int coll, uint64_t count, ncclDataType_t datatype,
                             int, int, int, int* algo, int* protocol, int* maxChannels) {
  constexpr const char* kName = "rcclGetAlgoInfo";
  return guard([&] {
    const auto communicator = communicator_of(comm, kName);
    communicator->require_ready(kName);
    require_pointer(kName, "algo", algo);
    require_pointer(kName, "protocol", protocol);
    require_pointer(kName, "maxChannels", maxChannels);
    const size_t element = require_type(kName, datatype);
    if (coll < 0 || coll >= int(std::size(kFunctions)))
      fail(ncclInvalidArgument, "{}: coll is {}, it must be 0 to {}", kName, coll,
           std::size(kFunctions) - 1);
    if (count > SIZE_MAX / element)
      fail(ncclInvalidArgument, "{}: count is {}, more than memory can be", kName, count);
    const Choice choice = choice_of(*communicator, kFunctions[coll], count * element);
    *algo = int(choice.algorithm - algorithms().data());
    *protocol = int(choice.protocol);
    *maxChannels = communicator->size() == 1 ? 1 : int(communicator->geometry.box.channels);
    return ncclSuccess;
  });
}

ncclResult_t rcclGetAlgoName(int algo, const char** algoName) {
  return guard([&] {
    require_pointer("rcclGetAlgoName", "algoName", algoName);
    if (algo < 0 || size_t(algo) >= algorithms().size())
      fail(ncclInvalidArgument, "rcclGetAlgoName: there is no algorithm {}", algo);
    *algoName = algorithms()[algo].label.data();
    return ncclSuccess;
  });
}

ncclResult_t rcclGetProtocolName(int protocol, const char** protocolName) {
  return guard([&] {
    require_pointer("rcclGetProtocolName", "protocolName", protocolName);
    if (protocol < 0 || protocol >= kProtocolCount)
      fail(ncclInvalidArgument, "rcclGetProtocolName: there is no protocol {}", protocol);
    *protocolName = protocol_name(Protocol(protocol)).data();
    return ncclSuccess;
  });
}
