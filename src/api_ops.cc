// The C entry points of a program's own reductions, and what rccl-tests asks about choices.
#include "algorithms/registry.h"
#include "api_guard.h"

using namespace weft;

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

// Ids are positions in algorithms() and of Protocol.
ncclResult_t rcclGetAlgoName(int algo, const char** algoName) {
  return guard([&] {
    require_pointer("rcclGetAlgoName", "algoName", algoName);
    if (algo < 0 || size_t(algo) >= algorithms().size())
      fail(ncclInvalidArgument, "rcclGetAlgoName: there is no algorithm {}", algo);
    *algoName = algorithms()[algo].name.data();
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
