// A process that can start no more threads: calls fail and say so, or do without; nothing hangs and
// the process goes on.
#include "../support/expect_error.h"
#include "../support/local_ranks.h"
#include "thread_budget.h"

namespace weft::test {
namespace {

constexpr int kCountedRanks = 3;

void destroy_all(const std::vector<ncclComm_t>& comms) {
  for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

// Whichever thread of an init cannot be had, the init fails soon, as a whole.
TEST(NoThreads, AnInitFailsSoonAndAsAWhole) {
  { const LocalRanks warm_up(kCountedRanks); }  // the simulated devices have their threads now
  int failures = 0;
  for (int budget = 0;; ++budget) {
    SCOPED_TRACE(budget);
    std::vector<ncclComm_t> comms(kCountedRanks);
    ncclResult_t code = ncclSuccess;
    const long took = milliseconds_of([&] {
      const ThreadBudget threads(budget);
      code = ncclCommInitAll(comms.data(), kCountedRanks, nullptr);
    });
    EXPECT_LT(took, 5000);
    if (code == ncclSuccess) {
      destroy_all(comms);
      break;
    }
    expect_error(code, ncclSystemError, {"thread"});
    for (const ncclComm_t comm : comms) EXPECT_EQ(comm, nullptr);
    ASSERT_LT(++failures, 20);
  }
  EXPECT_GT(failures, 1);
}

TEST(NoThreads, AnInitInTheBackgroundIsAnAsynchronousError) {
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  {
    const ThreadBudget none(0);
    EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  }
  ASSERT_NE(comm, nullptr);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclSystemError);
  expect_text(ncclGetLastError(comm), {"no thread for the init of rank 0"});
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
}

TEST(NoThreads, CommunicatorsAreClosedAllTheSame) {
  for (const bool by_abort : {false, true}) {
    LocalRanks ranks(kCountedRanks);
    const ThreadBudget none(0);
    for (int rank = 0; rank < kCountedRanks; ++rank) {
      const ncclComm_t comm = ranks.take(rank);
      EXPECT_EQ(by_abort ? ncclCommAbort(comm) : ncclCommDestroy(comm), ncclSuccess);
    }
  }
  const LocalRanks after(kCountedRanks);
}

}  // namespace
}  // namespace weft::test
