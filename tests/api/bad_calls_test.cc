// Calls that are wrong by themselves: the code, the text, and that nothing happens.
#include "../support/expect_error.h"
#include "../support/local_ranks.h"
#include "../unit/scoped_log.h"

namespace weft::test {
namespace {

class BadCalls : public testing::Test {
 protected:
  ncclResult_t call(const void* in, void* out, size_t count, int type = ncclFloat32,
                    int op = ncclSum) {
    return ncclAllReduce(in, out, count, ncclDataType_t(type), ncclRedOp_t(op), ranks_.comm(0),
                         ranks_.stream(0));
  }
  char* at(size_t offset) { return static_cast<char*>(memory_.data()) + offset; }

  LocalRanks ranks_{2};
  GuardedBuffer memory_{4096, 0};
};

TEST_F(BadCalls, ACommunicatorThatIsNone) {
  int value = -7;
  ncclResult_t state = ncclSuccess;
  alignas(8) char zeros[256] = {};
  const auto foreign = reinterpret_cast<ncclComm_t>(zeros);
  for (const ncclComm_t comm : {ncclComm_t(nullptr), foreign}) {
    const char* what = comm == nullptr ? "NULL" : "not a communicator";
    expect_error(ncclAllReduce(at(0), at(0), 1, ncclFloat32, ncclSum, comm, nullptr),
                 ncclInvalidArgument, {"ncclAllReduce", what});
    expect_error(ncclCommCount(comm, &value), ncclInvalidArgument, {"ncclCommCount", what});
    expect_error(ncclCommUserRank(comm, &value), ncclInvalidArgument, {"ncclCommUserRank", what});
    expect_error(ncclCommCuDevice(comm, &value), ncclInvalidArgument, {"ncclCommCuDevice", what});
    expect_error(ncclCommGetAsyncError(comm, &state), ncclInvalidArgument, {what});
    expect_error(ncclCommFinalize(comm), ncclInvalidArgument, {"ncclCommFinalize", what});
  }
  EXPECT_EQ(value, -7);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(nullptr), ncclSuccess);
  expect_error(ncclCommDestroy(foreign), ncclInvalidArgument, {"ncclCommDestroy"});
  expect_error(ncclCommAbort(foreign), ncclInvalidArgument, {"ncclCommAbort"});
}

TEST_F(BadCalls, ADestroyedCommunicator) {
  LocalRanks others(2);
  const ncclComm_t gone = others.take(0), peer = others.take(1);
  ASSERT_EQ(ncclCommDestroy(gone), ncclSuccess);
  ASSERT_EQ(ncclCommDestroy(peer), ncclSuccess);
  int value = 0;
  expect_error(ncclAllReduce(at(0), at(0), 1, ncclFloat32, ncclSum, gone, nullptr),
               ncclInvalidArgument, {"ncclAllReduce", "was destroyed"});
  expect_error(ncclCommCount(gone, &value), ncclInvalidArgument, {"was destroyed"});
  expect_error(ncclCommDestroy(gone), ncclInvalidArgument, {"was destroyed"});
  expect_error(ncclCommAbort(gone), ncclInvalidArgument, {"was destroyed"});
  expect_error(ncclCommFinalize(gone), ncclInvalidArgument, {"was destroyed"});
}

TEST_F(BadCalls, TypeAndOp) {
  for (const int type : {-1, int(ncclNumTypes), 99, INT32_MAX})
    expect_error(call(at(0), at(0), 1, type), ncclInvalidArgument,
                 {"datatype is " + std::to_string(type)});
  for (const int op : {-1, int(ncclNumOps), 99, INT32_MAX})
    expect_error(call(at(0), at(0), 1, ncclFloat32, op), ncclInvalidArgument,
                 {"op is " + std::to_string(op)});
}

TEST_F(BadCalls, CountsThatNoMemoryHolds) {
  for (const size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8 + 1})
    expect_error(call(at(0), at(0), count), ncclInvalidArgument,
                 {"count is " + std::to_string(count)});
}

TEST_F(BadCalls, Buffers) {
  expect_error(call(nullptr, at(0), 4), ncclInvalidArgument, {"sendbuff is NULL"});
  expect_error(call(at(0), nullptr, 4), ncclInvalidArgument, {"recvbuff is NULL"});
  expect_error(call(at(0), at(4), 4), ncclInvalidArgument, {"overlap", "16 bytes"});
  expect_error(call(at(12), at(0), 4), ncclInvalidArgument, {"overlap"});
  expect_error(call(at(2), at(64), 4), ncclInvalidArgument, {"not aligned", "4 bytes"});
  expect_error(call(at(64), at(1), 4), ncclInvalidArgument, {"not aligned"});
}

// A03: an empty call needs no memory.
TEST_F(BadCalls, A03CountZeroWithNullIsFine) {
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, ranks_.comm(rank),
                            ranks_.stream(rank)),
              ncclSuccess);
  ranks_.synchronize();
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(poll_async(ranks_.comm(rank), ncclInProgress), 0);
}

TEST_F(BadCalls, MemoryOfAnotherDeviceIsFoundWhenAsked) {
  const ScopedEnv check("NCCL_CHECK_POINTERS", "1");
  const LocalRanks checked(2);
  const LocalRanks::OnDevice scope(1);
  const GuardedBuffer on_one(64, 0);
  expect_error(ncclAllReduce(on_one.data(), on_one.data(), 4, ncclFloat32, ncclSum, checked.comm(0),
                             nullptr),
               ncclInvalidArgument, {"sendbuff", "device 1", "device 0"});
  float on_stack[4] = {};
  expect_error(ncclAllReduce(on_stack, on_stack, 4, ncclFloat32, ncclSum, checked.comm(0), nullptr),
               ncclInvalidArgument, {"sendbuff", "no memory"});
}

// Nothing of a bad call reaches the device: a good one after it is right.
TEST_F(BadCalls, LeaveTheCommunicatorAsItWas) {
  EXPECT_NE(call(nullptr, at(0), 4), ncclSuccess);
  const LocalRanks::OnDevice scope(1);
  const GuardedBuffer other(4, 0);
  const float one = 1;
  float sum = 0;
  require_hip(hipMemcpy(at(0), &one, 4, hipMemcpyHostToDevice), "hipMemcpy");
  require_hip(hipMemcpy(other.data(), &one, 4, hipMemcpyHostToDevice), "hipMemcpy");
  EXPECT_EQ(call(at(0), at(0), 1), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(other.data(), other.data(), 1, ncclFloat32, ncclSum, ranks_.comm(1),
                          ranks_.stream(1)),
            ncclSuccess);
  ranks_.synchronize();
  require_hip(hipMemcpy(&sum, at(0), 4, hipMemcpyDeviceToHost), "hipMemcpy");
  EXPECT_EQ(sum, 2);
}

TEST_F(BadCalls, NullOutputs) {
  expect_error(ncclGetUniqueId(nullptr), ncclInvalidArgument, {"uniqueId is NULL"});
  expect_error(ncclGetVersion(nullptr), ncclInvalidArgument, {});
  expect_error(ncclCommCount(ranks_.comm(0), nullptr), ncclInvalidArgument, {"NULL"});
  expect_error(ncclCommGetAsyncError(ranks_.comm(0), nullptr), ncclInvalidArgument, {"NULL"});
  expect_error(ncclMemAlloc(nullptr, 10), ncclInvalidArgument, {"NULL"});
}

TEST_F(BadCalls, GroupEndWithoutStart) {
  expect_error(ncclGroupEnd(), ncclInvalidUsage, {"ncclGroupEnd without ncclGroupStart"});
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  expect_error(ncclGroupEnd(), ncclInvalidUsage, {"without ncclGroupStart"});
}

// A group with a bad call does nothing at all, and says which call it was.
TEST_F(BadCalls, InAGroup) {
  const float one = 1;
  float after = 0;
  require_hip(hipMemcpy(at(0), &one, 4, hipMemcpyHostToDevice), "hipMemcpy");
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(call(at(0), at(0), 1), ncclSuccess);
  expect_error(call(at(0), at(0), 1, 77), ncclInvalidArgument, {"datatype is 77"});
  EXPECT_EQ(call(at(0), at(0), 1), ncclSuccess);
  expect_error(ncclGroupEnd(), ncclInvalidArgument, {"group", "datatype is 77"});
  ranks_.synchronize();
  require_hip(hipMemcpy(&after, at(0), 4, hipMemcpyDeviceToHost), "hipMemcpy");
  EXPECT_EQ(after, 1);
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);  // the next group is not concerned
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
}

TEST_F(BadCalls, AQuestionThatFailsDoesNotFailTheGroup) {
  int value = 0;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommCount(nullptr, &value), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
}

TEST_F(BadCalls, WhatThisVersionLacks) {
  ncclComm_t fewer = nullptr;
  int excluded = 1;
  expect_error(ncclCommShrink(ranks_.comm(0), &excluded, 1, &fewer, nullptr, NCCL_SHRINK_DEFAULT),
               ncclInvalidUsage, {"ncclCommShrink", "not available in this version"});
  EXPECT_EQ(fewer, nullptr);
}

TEST(BadInits, InitAll) {
  ncclComm_t comms[3] = {};
  const int twice[] = {1, 2, 1}, beyond[] = {0, 1, 99};
  expect_error(ncclCommInitAll(nullptr, 2, nullptr), ncclInvalidArgument, {"NULL"});
  expect_error(ncclCommInitAll(comms, 0, nullptr), ncclInvalidArgument, {"ndev is 0"});
  expect_error(ncclCommInitAll(comms, -1, nullptr), ncclInvalidArgument, {"ndev is -1"});
  expect_error(ncclCommInitAll(comms, 3, twice), ncclInvalidUsage, {"device 1 twice"});
  expect_error(ncclCommInitAll(comms, 3, beyond), ncclInvalidArgument, {"99", "16 devices"});
  for (const ncclComm_t comm : comms) EXPECT_EQ(comm, nullptr);
}

TEST(BadInits, RankAndSize) {
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclComm_t comm = nullptr;
  expect_error(ncclCommInitRank(nullptr, 2, id, 0), ncclInvalidArgument, {"comm is NULL"});
  expect_error(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument, {"rank 2 of 2"});
  expect_error(ncclCommInitRank(&comm, 2, id, -1), ncclInvalidArgument, {"rank -1 of 2"});
  expect_error(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument, {"nranks is 0"});
  expect_error(ncclCommInitRank(&comm, -5, id, 0), ncclInvalidArgument, {"nranks is -5"});
  expect_error(ncclCommInitRank(&comm, 1, ncclUniqueId{}, 0), ncclInvalidArgument, {"unique id"});
  EXPECT_EQ(comm, nullptr);
}

struct Settings {
  const char* name;
  const char* value;
  std::vector<std::string> parts;
};

TEST(BadInits, SettingsThatCannotBeUsed) {
  const Settings all[] = {
      {"NCCL_ALGO", "NVLS", {"NCCL_ALGO=NVLS", "AllReduce"}},
      {"NCCL_ALGO", "Bogus", {"NCCL_ALGO=Bogus", "bogus is no name", "ring"}},
      {"NCCL_ALGO", "broadcast:tree", {"broadcast:tree", "Broadcast"}},
      {"NCCL_ALGO", "frobnicate:ring", {"frobnicate is no function"}},
      {"NCCL_ALGO", "^ring,tree,direct", {"NCCL_ALGO=^ring,tree,direct"}},
      {"NCCL_PROTO", "LL256", {"NCCL_PROTO=LL256", "ll256 is no name"}},
      {"NCCL_PROTO", "^LL,LL128,Simple", {"NCCL_PROTO=^LL,LL128,Simple", "AllReduce"}},
      {"NCCL_BUFFSIZE", "abc", {"NCCL_BUFFSIZE=abc"}},
      {"WEFT_INIT_TIMEOUT", "0", {"WEFT_INIT_TIMEOUT=0"}},
  };
  for (const Settings& setting : all) {
    SCOPED_TRACE(std::string(setting.name) + "=" + setting.value);
    const ScopedEnv env(setting.name, setting.value);
    ncclComm_t comms[2] = {};
    expect_error(ncclCommInitAll(comms, 2, nullptr), ncclInvalidUsage, setting.parts);
    EXPECT_EQ(comms[0], nullptr);
  }
}

TEST(BadInits, SettingsThatAreFine) {
  const Settings all[] = {
      {"NCCL_ALGO", "Ring", {}},          {"NCCL_ALGO", "tree,ring", {}},
      {"NCCL_ALGO", "^Tree", {}},         {"NCCL_ALGO", "allreduce:ring;broadcast:ring", {}},
      {"NCCL_PROTO", "Simple,LL128", {}}, {"NCCL_PROTO", "^LL", {}}};
  for (const Settings& setting : all) {
    SCOPED_TRACE(std::string(setting.name) + "=" + setting.value);
    const ScopedEnv env(setting.name, setting.value);
    const LocalRanks ranks(2);
  }
}

// Sizes of ncclConfig_t that callers were compiled with, and what is none.
TEST(BadInits, ConfigOfAnyAge) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  struct Age {
    size_t size;
    unsigned version;
  };
  for (const Age age : {Age{24, NCCL_VERSION(2, 14, 3)}, Age{48, NCCL_VERSION(2, 18, 3)},
                        Age{72, NCCL_VERSION(2, 27, 3)}, Age{80, NCCL_VERSION(2, 28, 3)}}) {
    SCOPED_TRACE(age.size);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    // What the caller's struct does not have is other memory of the caller's.
    std::memset(reinterpret_cast<char*>(&config) + age.size, 0x5a, sizeof config - age.size);
    config.size = age.size;
    config.version = age.version;
    require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
    EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSuccess)
        << ncclGetLastError(nullptr);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
  // A newer and larger one is cut.
  struct Larger {
    ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
    long more[4] = {1, 2, 3, 4};
  } larger;
  larger.known.size = sizeof larger;
  larger.known.version = NCCL_VERSION(2, 40, 0);
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &larger.known), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(BadInits, ConfigWithBadFields) {
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  const auto expect = [&](auto change, const std::vector<std::string>& parts) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    change(config);
    ncclComm_t comm = nullptr;
    expect_error(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument, parts);
    EXPECT_EQ(comm, nullptr);
  };
  expect([](ncclConfig_t& c) { c.magic = 0x1234; }, {"magic 0x1234"});
  expect([](ncclConfig_t& c) { c.size = 0; }, {"size 0"});
  expect([](ncclConfig_t& c) { c.size = size_t(1) << 40; }, {"size 1099511627776"});
  expect([](ncclConfig_t& c) { c.blocking = 2; }, {"blocking is 2"});
  expect([](ncclConfig_t& c) { c.minCTAs = 0; }, {"minCTAs is 0"});
  expect([](ncclConfig_t& c) { c.maxCTAs = -3; }, {"maxCTAs is -3"});
  expect([](ncclConfig_t& c) { c.minCTAs = 4, c.maxCTAs = 2; }, {"minCTAs is 4", "maxCTAs 2"});
}

}  // namespace
}  // namespace weft::test
