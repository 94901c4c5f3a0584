// Ops of a program: what may be made, where it may be used, and for how long.
#include <rccl/weft.h>

#include "../support/expect_error.h"
#include "../support/local_ranks.h"
#include "../unit/scoped_log.h"

namespace weft::test {
namespace {

class BadOps : public testing::Test {
 protected:
  ncclRedOp_t make(int rank, ncclDataType_t type = ncclFloat32) {
    ncclRedOp_t op = ncclSum;
    require_ok(
        ncclRedOpCreatePreMulSum(&op, &scalar_, type, ncclScalarHostImmediate, ranks_.comm(rank)),
        "ncclRedOpCreatePreMulSum");
    return op;
  }
  // Inside a group that then does nothing; the group has the error too.
  ncclResult_t use(ncclRedOp_t op, int rank, ncclDataType_t type = ncclFloat32) {
    require_ok(ncclGroupStart(), "ncclGroupStart");
    const ncclResult_t code =
        ncclAllReduce(memory_.data(), memory_.data(), 4, type, op, ranks_.comm(rank), nullptr);
    text_ = ncclGetLastError(nullptr);
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    EXPECT_EQ(ncclGroupSimulateEnd(&info), code);
    return code;
  }

  LocalRanks ranks_{2};
  GuardedBuffer memory_{256, 0};
  double scalar_ = 2;
  std::string text_;
};

TEST_F(BadOps, Making) {
  ncclRedOp_t op = ncclMin;
  const auto call = [&](ncclRedOp_t* out, void* scalar, int type, int residence, ncclComm_t comm) {
    return ncclRedOpCreatePreMulSum(out, scalar, ncclDataType_t(type),
                                    ncclScalarResidence_t(residence), comm);
  };
  const ncclComm_t comm = ranks_.comm(0);
  expect_error(call(nullptr, &scalar_, ncclFloat32, 1, comm), ncclInvalidArgument,
               {"ncclRedOpCreatePreMulSum", "op is NULL"});
  expect_error(call(&op, nullptr, ncclFloat32, 1, comm), ncclInvalidArgument, {"scalar is NULL"});
  expect_error(call(&op, &scalar_, 99, 1, comm), ncclInvalidArgument, {"datatype is 99"});
  expect_error(call(&op, &scalar_, ncclFloat32, 2, comm), ncclInvalidArgument, {"residence is 2"});
  expect_error(call(&op, &scalar_, ncclFloat32, -1, comm), ncclInvalidArgument, {"residence"});
  expect_error(call(&op, &scalar_, ncclFloat32, 1, nullptr), ncclInvalidArgument, {"NULL"});
  expect_error(call(&op, &scalar_, ncclFloat32, ncclScalarDevice, comm), ncclInvalidArgument,
               {"ncclScalarDevice", "no memory"});
  expect_error(call(&op, memory_.data(), ncclFloat32, ncclScalarHostImmediate, comm),
               ncclInvalidArgument, {"ncclScalarHostImmediate", "device memory"});
  expect_error(
      call(&op, static_cast<char*>(memory_.data()) + 2, ncclFloat32, ncclScalarDevice, comm),
      ncclInvalidArgument, {"not aligned"});
  EXPECT_EQ(op, ncclMin);  // outputs are written on success only
  EXPECT_EQ(call(&op, static_cast<char*>(memory_.data()) + 1, ncclInt8, ncclScalarDevice, comm),
            ncclSuccess);
  EXPECT_GE(int(op), int(ncclNumOps));
}

TEST_F(BadOps, OfTheTypeItWasMadeFor) {
  for (int type = 0; type < ncclNumTypes; ++type) {
    const ncclRedOp_t op = make(0, ncclDataType_t(type));
    for (int other = 0; other < ncclNumTypes; ++other) {
      EXPECT_EQ(use(op, 0, ncclDataType_t(other)),
                type == other ? ncclSuccess : ncclInvalidArgument);
      if (type != other) expect_text(text_, {"was made for", "datatype is"});
    }
  }
}

TEST_F(BadOps, OfTheCommunicatorItWasMadeWith) {
  const ncclRedOp_t op = make(0);
  EXPECT_EQ(use(op, 0), ncclSuccess);
  EXPECT_EQ(use(op, 1), ncclInvalidArgument);
  expect_text(text_, {"op is " + std::to_string(int(op)), "no operation of this communicator"});
  expect_error(ncclRedOpDestroy(op, ranks_.comm(1)), ncclInvalidArgument, {"ncclRedOpDestroy"});
  EXPECT_EQ(use(op, 0), ncclSuccess);
}

TEST_F(BadOps, UntilItIsDestroyed) {
  const ncclRedOp_t op = make(0);
  EXPECT_EQ(ncclRedOpDestroy(op, ranks_.comm(0)), ncclSuccess);
  EXPECT_EQ(use(op, 0), ncclInvalidArgument);
  expect_error(ncclRedOpDestroy(op, ranks_.comm(0)), ncclInvalidArgument, {"destroyed"});
  make(0);  // another one does not bring it back
  EXPECT_EQ(use(op, 0), ncclInvalidArgument);
}

TEST_F(BadOps, TheLibrarysOwnAreNotDestroyed) {
  for (int op = 0; op < ncclNumOps; ++op)
    expect_error(ncclRedOpDestroy(ncclRedOp_t(op), ranks_.comm(0)), ncclInvalidArgument,
                 {"ncclRedOpDestroy", "the library's own"});
  for (const int op : {-1, INT32_MIN, INT32_MAX})
    expect_error(ncclRedOpDestroy(ncclRedOp_t(op), ranks_.comm(0)), ncclInvalidArgument,
                 {std::to_string(op)});
  expect_error(ncclRedOpDestroy(ncclSum, nullptr), ncclInvalidArgument, {"NULL"});
}

TEST(GroupSimulateEnd, DiscardsAndEstimates) {
  const LocalRanks ranks(2);
  const GuardedBuffer memory(1 << 20, 0);
  require_hip(hipMemset(memory.data(), 1, memory.bytes()), "hipMemset");
  const auto estimate = [&](size_t count) {
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    require_ok(ncclGroupStart(), "ncclGroupStart");
    require_ok(ncclAllReduce(memory.data(), memory.data(), count, ncclInt8, ncclSum, ranks.comm(0),
                             ranks.stream(0)),
               "ncclAllReduce");
    require_ok(ncclGroupSimulateEnd(&info), "ncclGroupSimulateEnd");
    return info.estimatedTime;
  };
  const float small = estimate(1), large = estimate(1 << 20);
  EXPECT_GT(small, 0);
  EXPECT_GT(large, small);
  require_ok(ncclGroupStart(), "ncclGroupStart");  // nothing is left of the groups before
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  ranks.synchronize();  // nothing was started: rank 1 never came
  std::vector<char> after(memory.bytes());
  require_hip(hipMemcpy(after.data(), memory.data(), after.size(), hipMemcpyDeviceToHost),
              "hipMemcpy");
  EXPECT_EQ(after, std::vector<char>(after.size(), 1));
}

TEST(GroupSimulateEnd, BadCalls) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  expect_error(ncclGroupSimulateEnd(&info), ncclInvalidUsage, {"without ncclGroupStart"});
  EXPECT_EQ(info.estimatedTime, NCCL_UNDEF_FLOAT);
  require_ok(ncclGroupStart(), "ncclGroupStart");
  expect_error(ncclGroupSimulateEnd(nullptr), ncclInvalidArgument, {"simInfo is NULL"});
  info.magic = 7;
  require_ok(ncclGroupStart(), "ncclGroupStart");
  expect_error(ncclGroupSimulateEnd(&info), ncclInvalidArgument, {"magic 0x7"});
  expect_error(ncclGroupEnd(), ncclInvalidUsage, {"without ncclGroupStart"});  // both have ended
}

TEST(AlgoInfo, NamesWhatIsTaken) {
  for (const int size : {1, 3}) {
    const LocalRanks ranks(size);
    for (int coll = 0; coll < 5; ++coll)
      for (const uint64_t count : {uint64_t(0), uint64_t(1), uint64_t(1) << 24}) {
        int algo = -1, protocol = -1, channels = -1;
        ASSERT_EQ(rcclGetAlgoInfo(ranks.comm(0), coll, count, ncclFloat32, 0, 0, 1, &algo,
                                  &protocol, &channels),
                  ncclSuccess)
            << ncclGetLastError(nullptr);
        const char* text = nullptr;
        EXPECT_EQ(rcclGetAlgoName(algo, &text), ncclSuccess);
        EXPECT_EQ(rcclGetProtocolName(protocol, &text), ncclSuccess);
        EXPECT_GE(channels, 1);
      }
  }
}

TEST(AlgoInfo, FollowsTheRules) {
  const ScopedEnv algo_name("NCCL_ALGO", "Ring"), protocol_name("NCCL_PROTO", "Simple");
  const LocalRanks ranks(2);
  int algo = -1, protocol = -1, channels = -1;
  require_ok(
      rcclGetAlgoInfo(ranks.comm(1), 4, 8, ncclFloat32, 0, 0, 1, &algo, &protocol, &channels),
      "rcclGetAlgoInfo");
  const char* text = "";
  require_ok(rcclGetAlgoName(algo, &text), "rcclGetAlgoName");
  EXPECT_STREQ(text, "Ring");
  require_ok(rcclGetProtocolName(protocol, &text), "rcclGetProtocolName");
  EXPECT_STREQ(text, "Simple");
}

TEST(AlgoInfo, BadCalls) {
  const LocalRanks ranks(2);
  int out = -1;
  const auto call = [&](ncclComm_t comm, int coll, int type, uint64_t count, int* algo) {
    return rcclGetAlgoInfo(comm, coll, count, ncclDataType_t(type), 0, 0, 1, algo, &out, &out);
  };
  const ncclComm_t comm = ranks.comm(0);
  expect_error(call(nullptr, 4, ncclInt8, 1, &out), ncclInvalidArgument, {"NULL"});
  expect_error(call(comm, 4, ncclInt8, 1, nullptr), ncclInvalidArgument, {"algo is NULL"});
  expect_error(call(comm, 4, 99, 1, &out), ncclInvalidArgument, {"datatype is 99"});
  expect_error(call(comm, 5, ncclInt8, 1, &out), ncclInvalidArgument, {"coll is 5"});
  expect_error(call(comm, -1, ncclInt8, 1, &out), ncclInvalidArgument, {"coll is -1"});
  expect_error(call(comm, 4, ncclInt64, UINT64_MAX, &out), ncclInvalidArgument, {"count is"});
  EXPECT_EQ(out, -1);
}

}  // namespace
}  // namespace weft::test
