// Links between ranks that are threads of one process: direct pointers, shared memory when those do
// not work, errors, leaks.
#include <gtest/gtest.h>
#include <hip/hip_host.h>

#include <filesystem>
#include <thread>

#include "../support/thread_bootstrap.h"
#include "../unit/scoped_log.h"
#include "arena.h"
#include "link_rank.h"

namespace weft::test {
namespace {

class ScopedFault {
 public:
  ScopedFault(hipHostFault fault, int64_t value) : fault_(fault) { hipHostSetFault(fault, value); }
  ~ScopedFault() { hipHostSetFault(fault_, 0); }

 private:
  hipHostFault fault_;
};

struct ThreadRun {
  int size = 2;
  Config config;
  LinkRun link;
  std::vector<std::string> host_ids;  // by rank; empty: link.host_id
  std::function<int(int)> device = [](int rank) { return rank; };
  uint64_t rounds = 0;  // set by run(): exchanges used
};

std::vector<LinkOutcome> run(ThreadRun& setup) {
  auto board = std::make_shared<ThreadBoard>(setup.size);
  std::vector<LinkOutcome> outcomes(setup.size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < setup.size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadBootstrap bootstrap(board, rank);
      LinkRun link = setup.link;
      if (!setup.host_ids.empty()) link.host_id = setup.host_ids[rank];
      if (hipSetDevice(setup.device(rank)) != hipSuccess) {
        outcomes[rank].error = "no such device";
        bootstrap.fail(ncclSystemError, "no such device");
        return;
      }
      outcomes[rank] = run_link_rank(bootstrap, setup.config, link);
    });
  }
  for (auto& thread : threads) thread.join();
  setup.rounds = board->rounds();
  return outcomes;
}

void expect_all(const std::vector<LinkOutcome>& outcomes, LinkKind kind) {
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    EXPECT_EQ(outcomes[rank].error, "") << "rank " << rank;
    ASSERT_EQ(outcomes[rank].kinds.size(), outcomes.size()) << "rank " << rank;
    for (size_t peer = 0; peer < outcomes.size(); ++peer)
      EXPECT_EQ(outcomes[rank].kinds[peer], peer == rank ? LinkKind::kSelf : kind)
          << rank << " -> " << peer;
  }
}

size_t warnings(const ScopedLog& log) { return count_of(log.text(), "NCCL WARN"); }

TEST(LinksThreads, DirectPointersForAnyNumberOfRanks) {
  uint64_t rounds_of_two = 0;
  for (const int size : {2, 4, 8}) {
    ScopedLog log("WARN");
    ThreadRun setup;
    setup.size = size;
    expect_all(run(setup), LinkKind::kDirect);
    EXPECT_EQ(warnings(log), 0u);
    if (size == 2) rounds_of_two = setup.rounds;
    EXPECT_EQ(setup.rounds, rounds_of_two) << "exchanges must not grow with the ranks";
  }
}

TEST(LinksThreads, DescriptionHasTheShapeOfRccl) {
  ThreadRun setup;
  const auto outcomes = run(setup);
  EXPECT_EQ(outcomes[0].descriptions[0], "");
  EXPECT_TRUE(outcomes[0].descriptions[1].starts_with("0[")) << outcomes[0].descriptions[1];
  EXPECT_NE(outcomes[0].descriptions[1].find("] -> 1["), std::string::npos)
      << outcomes[0].descriptions[1];
  EXPECT_TRUE(outcomes[0].descriptions[1].ends_with("] via P2P/direct pointer"))
      << outcomes[0].descriptions[1];
}

TEST(LinksThreads, CurrentDeviceStays) {
  ThreadRun setup;
  setup.size = 4;
  setup.device = [](int rank) { return 7 - rank; };
  const auto outcomes = run(setup);
  expect_all(outcomes, LinkKind::kDirect);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(outcomes[rank].device_after, 7 - rank);
}

TEST(LinksThreads, RanksMayShareADevice) {
  ThreadRun setup;
  setup.size = 4;
  setup.device = [](int rank) { return rank / 2; };
  expect_all(run(setup), LinkKind::kDirect);
}

TEST(LinksThreads, OtherHostsAreLeftToTheNetwork) {
  ThreadRun setup;
  setup.size = 4;
  setup.host_ids = {"a", "a", "b", "c"};
  const auto outcomes = run(setup);
  EXPECT_EQ(outcomes[0].kinds,
            (std::vector{LinkKind::kSelf, LinkKind::kDirect, LinkKind::kNone, LinkKind::kNone}));
  EXPECT_EQ(outcomes[1].kinds,
            (std::vector{LinkKind::kDirect, LinkKind::kSelf, LinkKind::kNone, LinkKind::kNone}));
  EXPECT_EQ(outcomes[2].kinds,
            (std::vector{LinkKind::kNone, LinkKind::kNone, LinkKind::kSelf, LinkKind::kNone}));
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.error, "");
}

TEST(LinksThreads, AHostOfOneRankAllocatesNothing) {
  const size_t before = Arena::of_device(6).stats().bytes;
  ThreadRun setup;
  setup.host_ids = {"a", "b"};
  setup.device = [](int rank) { return 6 + rank; };
  const auto outcomes = run(setup);
  EXPECT_EQ(outcomes[0].kinds[1], LinkKind::kNone);
  EXPECT_EQ(Arena::of_device(6).stats().bytes, before);
}

TEST(LinksThreads, SharedMemoryWhenTheUserTurnsP2pOff) {
  for (const int size : {2, 4, 8}) {
    ScopedLog log("WARN");
    ThreadRun setup;
    setup.size = size;
    setup.config.p2p_disable = true;
    const auto outcomes = run(setup);
    expect_all(outcomes, LinkKind::kShared);
    EXPECT_TRUE(outcomes[0].descriptions[1].ends_with("via SHM/direct/direct"))
        << outcomes[0].descriptions[1];
    EXPECT_EQ(warnings(log), 0u) << "the user asked for it\n" << log.text();
  }
}

TEST(LinksThreads, NoPeerAccessFallsBackWithOneWarningAPeer) {
  ScopedFault fault(hipHostFaultNoPeer, 1);
  ScopedLog log("WARN");
  ThreadRun setup;
  setup.size = 4;
  expect_all(run(setup), LinkKind::kShared);
  EXPECT_EQ(warnings(log), 4u * 3u) << log.text();
  EXPECT_NE(log.text().find("hipDeviceCanAccessPeer"), std::string::npos) << log.text();
}

TEST(LinksThreads, ALyingPeerIsFoundByTheTransfer) {
  ScopedFault fault(hipHostFaultLyingPeer, 1);
  ScopedLog log("WARN");
  ThreadRun setup;
  setup.size = 4;
  expect_all(run(setup), LinkKind::kShared);
  EXPECT_EQ(warnings(log), 4u * 3u) << log.text();
  EXPECT_NE(log.text().find("test transfer arrived wrong"), std::string::npos) << log.text();
}

TEST(LinksThreads, NoWayAtAllNamesBothRanksAndEveryReason) {
  ThreadRun setup;
  setup.size = 3;
  setup.config.p2p_disable = true;
  setup.config.shm_disable = true;
  for (const auto& outcome : run(setup)) {
    EXPECT_NE(outcome.code, ncclSuccess);
    EXPECT_NE(outcome.error.find("rank 0 ("), std::string::npos) << outcome.error;
    EXPECT_NE(outcome.error.find("rank 1 ("), std::string::npos) << outcome.error;
    EXPECT_NE(outcome.error.find("NCCL_P2P_DISABLE"), std::string::npos) << outcome.error;
    EXPECT_NE(outcome.error.find("NCCL_SHM_DISABLE"), std::string::npos) << outcome.error;
  }
}

TEST(LinksThreads, AllRanksLearnWhichRankIsOutOfMemory) {
  ThreadRun setup;
  setup.size = 4;
  setup.link.box_bytes = size_t{1}
                         << 20;  // three of them: more than earlier tests left in the arenas
  ScopedFault fault(hipHostFaultMalloc, 1);
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = run(setup);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  int own = 0;
  std::string who;
  for (int rank = 0; rank < 4; ++rank) {
    if (outcomes[rank].code != ncclUnhandledCudaError) continue;
    ++own;
    who = fmt::format("rank {}: ", rank);
  }
  EXPECT_EQ(own, 1);
  for (const auto& outcome : outcomes) {
    EXPECT_NE(outcome.error.find("allocating"), std::string::npos) << outcome.error;
    if (outcome.code == ncclUnhandledCudaError) continue;
    EXPECT_EQ(outcome.code, ncclRemoteError);
    EXPECT_TRUE(outcome.error.starts_with(who)) << outcome.error;
  }
  expect_all(run(setup), LinkKind::kDirect);  // and nothing of it stays
}

size_t count_files(const char* folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

size_t count_mappings() { return count_of(read_text("/proc/self/maps"), "\n"); }

struct Usage {
  size_t descriptors, mappings, threads, device_bytes, quarantined;
};

Usage usage() {
  Usage u{count_files("/proc/self/fd"), count_mappings(), count_files("/proc/self/task"), 0, 0};
  for (int device = 0; device < 8; ++device) {
    const auto stats = Arena::of_device(device).stats();
    u.device_bytes += stats.bytes;
    u.quarantined += stats.quarantined;
    EXPECT_EQ(stats.carved, 0u) << "device " << device;
  }
  return u;
}

void expect_flat(bool p2p_disable, int rounds) {
  constexpr int kWarmUp = 20;
  constexpr size_t kMappingSlack = 40;  // thread stacks and heaps that glibc keeps
  ThreadRun setup;
  setup.size = 4;
  setup.config.p2p_disable = p2p_disable;
  setup.link.box_bytes = 4096;
  for (int round = 0; round < kWarmUp; ++round)
    expect_all(run(setup), p2p_disable ? LinkKind::kShared : LinkKind::kDirect);
  const Usage before = usage();
  for (int round = 0; round < rounds; ++round)
    expect_all(run(setup), p2p_disable ? LinkKind::kShared : LinkKind::kDirect);
  const Usage after = usage();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.device_bytes, before.device_bytes);
  EXPECT_EQ(after.quarantined, before.quarantined);
  EXPECT_LE(after.mappings, before.mappings + kMappingSlack);
}

TEST(LinksThreads, DirectPointersLeakNothing) { expect_flat(false, 200); }
TEST(LinksThreads, SharedMemoryLeaksNothing) { expect_flat(true, 200); }

}  // namespace
}  // namespace weft::test
