// Links between ranks in several processes, one or more ranks each: IPC, every reason to fall back,
// errors, leaks. The test program runs itself again as `links_processes_test rank ...`.
#include <gtest/gtest.h>
#include <hip/hip_host.h>

#include <filesystem>
#include <iostream>
#include <sstream>
#include <thread>

#include "../support/child_processes.h"
#include "../support/test_main.h"
#include "../support/unique_id_text.h"
#include "../unit/scoped_log.h"
#include "arena.h"
#include "link_rank.h"
#include "transport/segment_import.h"

namespace weft::test {
namespace {

constexpr std::chrono::seconds kLimit{60};

// One communicator; the parent starts the processes.
struct Job {
  std::vector<int> ranks_per_process = {1, 1};
  int rounds = 1;
  size_t box_bytes = 20'000;
  int fault_rank = -1;  // the process of this rank alone gets `fault`
  std::string fault;    // WEFT_HOST_FAULTS
  int size() const {
    int sum = 0;
    for (const int n : ranks_per_process) sum += n;
    return sum;
  }
};

struct RankReport {
  int code = -1;
  std::string kinds;  // one digit a peer
  std::string error;
};

struct Report {
  std::vector<RankReport> ranks;
  std::string output;
  bool ok = true;
};

Report run(const Job& job) {
  Report report;
  report.ranks.resize(static_cast<size_t>(job.size()));
  std::vector<std::string> ids;
  for (int round = 0; round < job.rounds; ++round)
    ids.push_back(to_hex(create_unique_id(*read_config())));
  ChildProcesses children;
  int first = 0;
  for (const int count : job.ranks_per_process) {
    const bool faulty =
        job.fault_rank < 0 || (job.fault_rank >= first && job.fault_rank < first + count);
    ScopedEnv fault("WEFT_HOST_FAULTS", faulty ? job.fault : "");
    std::vector<std::string> arguments = {"rank", std::to_string(first), std::to_string(count),
                                          std::to_string(job.size()),
                                          std::to_string(job.box_bytes)};
    arguments.insert(arguments.end(), ids.begin(), ids.end());
    children.start(arguments);
    first += count;
  }
  for (const ChildResult& child : children.collect(kLimit)) {
    report.output += child.output;
    report.ok = report.ok && child.ok();
  }
  std::istringstream lines(report.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark;
    int rank = -1;
    if (!(words >> mark >> rank) || mark != "LINKS" || rank < 0 || rank >= job.size()) continue;
    RankReport& at = report.ranks[static_cast<size_t>(rank)];
    words >> at.code >> at.kinds;
    std::getline(words >> std::ws, at.error);
  }
  return report;
}

char digit(LinkKind kind) { return static_cast<char>('0' + static_cast<int>(kind)); }

void expect_kinds(const Report& report, const std::vector<std::string>& kinds) {
  EXPECT_TRUE(report.ok) << report.output;
  ASSERT_EQ(report.ranks.size(), kinds.size());
  for (size_t rank = 0; rank < kinds.size(); ++rank) {
    EXPECT_EQ(report.ranks[rank].code, ncclSuccess) << report.output;
    EXPECT_EQ(report.ranks[rank].error, "") << "rank " << rank;
    EXPECT_EQ(report.ranks[rank].kinds, kinds[rank]) << "rank " << rank << "\n" << report.output;
  }
}

// One rank a process, all pairs alike.
void expect_all(const Report& report, LinkKind kind) {
  std::vector<std::string> kinds(report.ranks.size(),
                                 std::string(report.ranks.size(), digit(kind)));
  for (size_t rank = 0; rank < kinds.size(); ++rank) kinds[rank][rank] = digit(LinkKind::kSelf);
  expect_kinds(report, kinds);
}

size_t warnings(const Report& report) { return count_of(report.output, "NCCL WARN"); }

TEST(LinksProcesses, IpcForAnyNumberOfRanks) {
  for (const int size : {2, 4, 8}) {
    Job job;
    job.ranks_per_process.assign(static_cast<size_t>(size), 1);
    const Report report = run(job);
    expect_all(report, LinkKind::kIpc);
    EXPECT_EQ(warnings(report), 0u) << report.output;
  }
}

TEST(LinksProcesses, ThreadsInsideProcessesUseBoth) {
  Job job;
  job.ranks_per_process = {2, 1, 2};
  // kSelf 1, kDirect 2, kIpc 3
  expect_kinds(run(job), {"12333", "21333", "33133", "33312", "33321"});
}

TEST(LinksProcesses, SharedMemoryWhenTheUserTurnsP2pOff) {
  ScopedEnv off("NCCL_P2P_DISABLE", "1");
  for (const int size : {2, 4}) {
    Job job;
    job.ranks_per_process.assign(static_cast<size_t>(size), 1);
    const Report report = run(job);
    expect_all(report, LinkKind::kShared);
    EXPECT_EQ(warnings(report), 0u) << report.output;
  }
}

TEST(LinksProcesses, EveryFaultFallsBackOnBothSidesWithOneWarningEach) {
  for (const char* fault : {"no_peer", "lying_peer", "ipc_export", "ipc_import"}) {
    SCOPED_TRACE(fault);
    Job job;
    job.ranks_per_process = {1, 1, 1};
    job.fault = fault;
    const Report report = run(job);
    expect_all(report, LinkKind::kShared);
    EXPECT_EQ(warnings(report), 6u) << report.output;
  }
}

TEST(LinksProcesses, AFaultOfOneRankConcernsItsPairsOnly) {
  for (const char* fault : {"lying_peer", "ipc_export", "ipc_import"}) {
    SCOPED_TRACE(fault);
    Job job;
    job.ranks_per_process = {1, 1, 1, 1};
    job.fault = fault;
    job.fault_rank = 2;
    const Report report = run(job);
    expect_kinds(report, {"1343", "3143", "4414", "3341"});
    EXPECT_EQ(warnings(report), 6u) << report.output;  // 3 pairs, both sides
  }
}

TEST(LinksProcesses, AllRanksLearnWhichRankIsOutOfMemory) {
  Job job;
  job.ranks_per_process = {1, 1, 1, 1};
  job.fault = "malloc=1";
  job.fault_rank = 2;
  const auto start = std::chrono::steady_clock::now();
  const Report report = run(job);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
  EXPECT_TRUE(report.ok) << report.output;
  for (int rank = 0; rank < 4; ++rank) {
    const RankReport& at = report.ranks[static_cast<size_t>(rank)];
    EXPECT_EQ(at.code, rank == 2 ? ncclUnhandledCudaError : ncclRemoteError) << report.output;
    EXPECT_NE(at.error.find("allocating"), std::string::npos) << at.error;
    EXPECT_EQ(at.error.starts_with("rank 2: "), rank != 2) << at.error;
  }
}

TEST(LinksProcesses, NoWayAtAllNamesBothRanksAndEveryReason) {
  ScopedEnv off("NCCL_SHM_DISABLE", "1");
  Job job;
  job.fault = "ipc_import";
  const Report report = run(job);
  EXPECT_TRUE(report.ok) << report.output;
  for (const RankReport& rank : report.ranks) {
    EXPECT_EQ(rank.code, ncclSystemError) << report.output;
    for (const char* part : {"rank 0 (", "rank 1 (", "hipIpcOpenMemHandle", "NCCL_SHM_DISABLE"})
      EXPECT_NE(rank.error.find(part), std::string::npos) << part << " not in " << rank.error;
  }
}

// The children check themselves (run_as_rank) that nothing grows.
TEST(LinksProcesses, IpcLeaksNothing) {
  Job job;
  job.rounds = 60;
  expect_all(run(job), LinkKind::kIpc);
}

TEST(LinksProcesses, SharedMemoryLeaksNothing) {
  ScopedEnv off("NCCL_P2P_DISABLE", "1");
  Job job;
  job.rounds = 60;
  expect_all(run(job), LinkKind::kShared);
}

// ---- what a child does ----

struct Usage {
  size_t descriptors, mappings, device_bytes;
};

Usage usage() {
  const auto files = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  Usage u{static_cast<size_t>(files), count_of(read_text("/proc/self/maps"), "\n"), 0};
  for (int device = 0; device < 8; ++device)
    u.device_bytes += Arena::of_device(device).stats().bytes;
  return u;
}

LinkOutcome one_round(const ncclUniqueId& id, int rank, int size, size_t box_bytes) {
  LinkOutcome outcome;
  try {
    hip_check(hipSetDevice(rank), "choosing device {}", rank);
    const auto config = read_config();
    const auto bootstrap = Bootstrap::connect(id, rank, size, config, nullptr);
    LinkRun link;
    link.box_bytes = box_bytes;
    outcome = run_link_rank(*bootstrap, *config, link);
    bootstrap->close(std::chrono::seconds(2));
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.error = error.text();
  }
  return outcome;
}

void print(int rank, const LinkOutcome& outcome) {
  std::string kinds;
  for (const LinkKind kind : outcome.kinds) kinds += digit(kind);
  if (kinds.empty()) kinds = "-";
  std::string line = fmt::format("\nLINKS {} {} {} {}\n", rank, static_cast<int>(outcome.code),
                                 kinds, outcome.error);
  (void)!write(STDOUT_FILENO, line.data(), line.size());
}

// rank <first> <count> <size> <box bytes> <id>...
int run_as_rank(const std::vector<std::string>& arguments) {
  constexpr size_t kWarmUp = 20, kMappingSlack = 40;
  const int first = std::stoi(arguments[0]), count = std::stoi(arguments[1]),
            size = std::stoi(arguments[2]);
  const size_t box_bytes = std::stoul(arguments[3]);
  const size_t rounds = arguments.size() - 4;
  std::vector<LinkOutcome> outcomes(static_cast<size_t>(count));
  Usage before = {};
  for (size_t round = 0; round < rounds; ++round) {
    if (round == kWarmUp) before = usage();
    const ncclUniqueId id = from_hex(arguments[4 + round]);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back(
          [&, i] { outcomes[static_cast<size_t>(i)] = one_round(id, first + i, size, box_bytes); });
    for (auto& thread : threads) thread.join();
  }
  for (int i = 0; i < count; ++i) print(first + i, outcomes[static_cast<size_t>(i)]);
  if (open_segment_imports() != 0)
    return std::cerr << "segments of other processes are still open\n", 2;
  if (rounds <= kWarmUp) return 0;
  const Usage after = usage();
  if (after.descriptors == before.descriptors && after.device_bytes == before.device_bytes &&
      after.mappings <= before.mappings + kMappingSlack)
    return 0;
  std::cerr << fmt::format("descriptors {} -> {}, mappings {} -> {}, device bytes {} -> {}\n",
                           before.descriptors, after.descriptors, before.mappings, after.mappings,
                           before.device_bytes, after.device_bytes);
  return 3;
}

}  // namespace
}  // namespace weft::test

int main(int argc, char** argv) {
  setenv("NCCL_DEBUG", "WARN", 1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  return weft::test::test_main(argc, argv, {{"rank", weft::test::run_as_rank}});
}
