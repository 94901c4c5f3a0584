// Ranks that do not do what the others do: missing, duplicate or different ranks in an init, calls
// that differ, ranks that do not call, aborts. Nothing hangs, and the texts name who and what.
#include <hip/hip_host.h>

#include "../support/expect_error.h"
#include "../unit/scoped_log.h"
#include "failing_ranks.h"

namespace weft::test {
namespace {

struct Outcome {
  ncclResult_t code = ncclSuccess;
  std::string text;
  ncclComm_t comm = nullptr;
};

struct Member {
  int rank, size, device;
};

// Each member's init on a thread of its own; handles that were made are aborted.
std::vector<Outcome> init(const std::vector<Member>& members) {
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::vector<Outcome> outcomes(members.size());
  on_threads(int(members.size()), [&](int i) {
    const Member& member = members[size_t(i)];
    Outcome& outcome = outcomes[size_t(i)];
    require_hip(hipSetDevice(member.device), "hipSetDevice");
    outcome.code = ncclCommInitRank(&outcome.comm, member.size, id, member.rank);
    outcome.text = outcome.code == ncclSuccess ? "" : ncclGetLastError(nullptr);
    EXPECT_EQ(ncclCommAbort(outcome.comm), ncclSuccess);  // also of null
  });
  return outcomes;
}

TEST(InitFailures, AMissingRankIsNamed) {
  const ScopedEnv limit("WEFT_INIT_TIMEOUT", "1");
  const long took = milliseconds_of([] {
    for (const Outcome& outcome : init({{0, 3, 0}, {2, 3, 2}})) {
      EXPECT_EQ(outcome.code, ncclSystemError);
      EXPECT_EQ(outcome.comm, nullptr);
      expect_text(outcome.text, {"1 of 3 ranks have not checked in", "rank 1"});
    }
  });
  EXPECT_GE(took, 900);
  EXPECT_LT(took, 10'000);
}

TEST(InitFailures, ARankTwice) {
  for (const Outcome& outcome : init({{0, 3, 0}, {1, 3, 1}, {1, 3, 2}})) {
    EXPECT_EQ(outcome.code, ncclInvalidUsage);
    expect_text(outcome.text, {"rank 1"});
  }
}

TEST(InitFailures, DifferentSizes) {
  for (const Outcome& outcome : init({{0, 3, 0}, {1, 3, 1}, {2, 4, 2}})) {
    EXPECT_EQ(outcome.code, ncclInvalidUsage);
    expect_text(outcome.text, {"3", "4"});
  }
}

// D01
TEST(InitFailures, D01RanksOnOneDevice) {
  for (const Outcome& outcome : init({{0, 4, 0}, {1, 4, 3}, {2, 4, 3}, {3, 4, 1}})) {
    EXPECT_EQ(outcome.code, ncclInvalidUsage);
    expect_text(outcome.text, {"Duplicate GPU detected", "rank 1 and rank 2", "hipSetDevice"});
  }
}

TEST(InitFailures, RanksOnOneDeviceAreFineWhenAllowed) {
  const ScopedEnv allow("WEFT_ALLOW_SHARED_DEVICE", "1");
  for (const Outcome& outcome : init({{0, 3, 0}, {1, 3, 0}, {2, 3, 0}}))
    EXPECT_EQ(outcome.code, ncclSuccess) << outcome.text;
}

// A call takes its settings from the environment when it is made.
TEST(InitFailures, DifferentSettings) {
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclComm_t comms[3] = {};
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < 3; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    const ScopedEnv channels("NCCL_MIN_NCHANNELS", rank == 2 ? "4" : "3");
    EXPECT_EQ(ncclCommInitRank(&comms[rank], 3, id, rank), ncclSuccess);
  }
  expect_error(ncclGroupEnd(), ncclInvalidUsage,
               {"NCCL_MIN_NCHANNELS=3", "NCCL_MIN_NCHANNELS=4", "rank 2"});
  for (const ncclComm_t comm : comms) EXPECT_EQ(comm, nullptr);
}

// A16
TEST(InitFailures, A16TheSameIdTwice) {
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclComm_t comm = nullptr, second = nullptr;
  require_ok(ncclCommInitRank(&comm, 1, id, 0), "ncclCommInitRank");
  const long took = milliseconds_of(
      [&] { expect_error(ncclCommInitRank(&second, 1, id, 0), ncclInvalidUsage, {"used"}); });
  EXPECT_LT(took, 5000);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

// L06: whichever allocation of an init fails, all ranks fail soon and know why, or all succeed.
TEST(InitFailures, L06AnAllocationFailsOnOneRank) {
  int failures = 0;
  for (int which = 1; which <= 10; ++which) {
    SCOPED_TRACE(which);
    hipHostSetFault(hipHostFaultMalloc, which);
    std::vector<Outcome> outcomes;
    const long took = milliseconds_of([&] {
      outcomes = init({{0, 4, 10}, {1, 4, 11}, {2, 4, 12}, {3, 4, 13}});
    });
    hipHostSetFault(hipHostFaultMalloc, 0);
    EXPECT_LT(took, 10'000);
    int failed = 0;
    for (const Outcome& outcome : outcomes) {
      if (outcome.code == ncclSuccess) continue;
      ++failed;
      EXPECT_TRUE(outcome.code == ncclUnhandledCudaError || outcome.code == ncclRemoteError)
          << outcome.code;
      expect_text(outcome.text, {"allocating", "out of memory"});
    }
    EXPECT_TRUE(failed == 0 || failed == 4) << failed;
    failures += failed == 4;
  }
  EXPECT_GT(failures, 0);  // else the fault reached nothing
  for (const Outcome& outcome : init({{0, 4, 10}, {1, 4, 11}, {2, 4, 12}, {3, 4, 13}}))
    EXPECT_EQ(outcome.code, ncclSuccess) << outcome.text;
}

// ---- After init ----

void expect_mismatch(const Ranks& ranks) {
  const auto [rank, code] = first_async(ranks);
  ASSERT_GE(rank, 0) << "nobody noticed";
  EXPECT_EQ(code, ncclInvalidUsage);
  expect_text(ncclGetLastError(ranks.comm(rank)), {"another call", "AllReduce", "signature"});
}

TEST(DifferentCalls, OtherCount) {
  Ranks ranks(2);
  require_ok(ranks.call(0, 1000), "rank 0");
  require_ok(ranks.call(1, 1001), "rank 1");
  expect_mismatch(ranks);
}

TEST(DifferentCalls, OtherType) {
  Ranks ranks(3);
  require_ok(ranks.call(0, 1000), "rank 0");
  require_ok(ranks.call(1, 1000, ncclInt32), "rank 1");
  require_ok(ranks.call(2, 1000), "rank 2");
  expect_mismatch(ranks);
}

TEST(DifferentCalls, OtherOp) {
  Ranks ranks(2);
  require_ok(ranks.call(0, 10, ncclFloat32, ncclMin), "rank 0");
  require_ok(ranks.call(1, 10, ncclFloat32, ncclMax), "rank 1");
  expect_mismatch(ranks);
}

TEST(DifferentCalls, ManyMoreElements) {
  Ranks ranks(2);
  require_ok(ranks.call(0, 200'000), "rank 0");
  require_ok(ranks.call(1, 1), "rank 1");
  expect_mismatch(ranks);
}

TEST(DifferentCalls, LaterCallsOfAFailedRankAreRefused) {
  Ranks ranks(2);
  require_ok(ranks.call(0, 100), "rank 0");
  require_ok(ranks.call(1, 101), "rank 1");
  const auto [rank, code] = first_async(ranks);
  ASSERT_GE(rank, 0);
  expect_error(ranks.call(rank, 100), ncclInvalidUsage, {"earlier operation failed"});
}

TEST(Deadline, NamesTheRankWaitedFor) {
  const ScopedEnv limit("WEFT_TIMEOUT", "0.5");
  Ranks ranks(3);
  for (const int rank : {0, 1}) require_ok(ranks.call(rank, 5000), "ncclAllReduce");
  const auto [rank, code] = first_async(ranks);
  ASSERT_GE(rank, 0) << "no rank gave up";
  EXPECT_EQ(code, ncclRemoteError);
  const std::string text = ncclGetLastError(ranks.comm(rank));
  expect_text(text, {"WEFT_TIMEOUT", "AllReduce of 5000 ncclFloat32, ncclSum", "waited for",
                     "rank " + std::to_string(rank) + ", operation"});
  // Rank 0 waits for rank 2, which never came; rank 1 for more of rank 0 or for rank 2's room.
  if (rank == 0) expect_text(text, {"data of rank 2"});
}

TEST(Deadline, LeavesOperationsAlone) {
  const ScopedEnv limit("WEFT_TIMEOUT", "30");
  Ranks ranks(2);
  for (int round = 0; round < 5; ++round)
    for (const int rank : {0, 1}) require_ok(ranks.call(rank, 5000), "ncclAllReduce");
  ranks.synchronize();
  for (const int rank : {0, 1})
    EXPECT_EQ(poll_async(ranks.comm(rank), ncclInProgress), ncclSuccess);
}

// L01: one rank of four never calls; rank 0 alone aborts.
TEST(Abort, L01WhilePeersHang) {
  Ranks ranks(4);
  for (const int rank : {0, 1, 2}) require_ok(ranks.call(rank, 200'000), "ncclAllReduce");
  const ncclComm_t zero = ranks.take(0);
  EXPECT_LT(milliseconds_of([&] { EXPECT_EQ(ncclCommAbort(zero), ncclSuccess); }), kSoonMs);
  for (const int rank : {1, 2, 3}) {
    EXPECT_EQ(poll_async(ranks.comm(rank)), ncclRemoteError) << rank;
    expect_text(ncclGetLastError(ranks.comm(rank)), {"rank 0", "ncclCommAbort"});
  }
}

TEST(Abort, OfAnIdleCommunicatorTellsTheOthers) {
  Ranks ranks(2);
  const ncclComm_t zero = ranks.take(0);
  EXPECT_LT(milliseconds_of([&] { EXPECT_EQ(ncclCommAbort(zero), ncclSuccess); }), kSoonMs);
  EXPECT_EQ(poll_async(ranks.comm(1)), ncclRemoteError);
}

// A destroy of a rank whose operation cannot end because a peer has left is bounded too.
TEST(Abort, DestroyAfterAPeerAborted) {
  Ranks ranks(2);
  require_ok(ranks.call(1, 1000), "ncclAllReduce");
  EXPECT_EQ(ncclCommAbort(ranks.take(0)), ncclSuccess);
  const ncclComm_t one = ranks.take(1);
  EXPECT_LT(milliseconds_of([&] { EXPECT_EQ(ncclCommDestroy(one), ncclRemoteError); }), 5000);
}

}  // namespace
}  // namespace weft::test
