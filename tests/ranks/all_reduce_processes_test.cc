// AllReduce among processes of one or more ranks: the test program runs itself again as
// `all_reduce_test rank <work> <first> <count> <size> <id>`.
#include <fmt/ranges.h>

#include <iostream>
#include <mutex>

#include "../support/child_processes.h"
#include "../support/local_ranks.h"
#include "../support/unique_id_text.h"
#include "../unit/scoped_log.h"
#include "all_reduce_process.h"
#include "all_reduce_rank.h"

namespace weft::test {
namespace {

constexpr std::chrono::seconds kLimit{100};

// What every rank does, by the name in the first argument.
std::vector<Case> cases_of(const std::string& work) {
  std::vector<Case> cases;
  if (work == "sizes")
    for (const size_t count : {0, 1, 3, 1021, 40'001, 300'007})
      for (const bool in_place : {false, true})
        cases.push_back({ncclFloat32, ncclSum, count, in_place, count % 3, count + 1});
  if (work == "types")
    for (int type = 0; type < ncclNumTypes; ++type)
      for (int op = 0; op < ncclNumOps; ++op)
        cases.push_back({ncclDataType_t(type), ncclRedOp_t(op), size_t(3000 + type), op % 2 == 0,
                         size_t(op % 2), uint64_t(100 * type + op)});
  if (work == "large") cases.push_back({ncclFloat32, ncclSum, (size_t(64) << 20) / 4, true, 0, 3});
  return cases;
}

// Starts one process for each entry, with so many ranks; all must find their results right.
void run_processes(const std::string& work, const std::vector<int>& ranks_of_process) {
  SCOPED_TRACE(
      fmt::format("{} with {} ranks in processes", work, fmt::join(ranks_of_process, "+")));
  int size = 0;
  for (const int count : ranks_of_process) size += count;
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  const ScopedEnv workers("WEFT_HOST_WORKERS", "1");  // processes enough for a small machine
  ChildProcesses children;
  int first = 0;
  for (const int count : ranks_of_process) {
    children.start({"rank", work, std::to_string(first), std::to_string(count),
                    std::to_string(size), to_hex(id)});
    first += count;
  }
  for (const ChildResult& child : children.collect(kLimit)) {
    EXPECT_TRUE(child.ok()) << child.output;
    EXPECT_NE(child.output.find("ALL RIGHT"), std::string::npos) << child.output;
  }
}

TEST(AllReduceProcesses, OneRankEach) {
  for (const int size : {2, 3, 8}) run_processes("sizes", std::vector<int>(size_t(size), 1));
}

TEST(AllReduceProcesses, CiEveryTypeAndOpForMoreRanks) {
  for (const int size : {1, 4, 6, 7, 9}) run_processes("types", std::vector<int>(size_t(size), 1));
}

TEST(AllReduceProcesses, EveryTypeAndOp) { run_processes("types", {1, 1, 1}); }

TEST(AllReduceProcesses, TwoRanksInEachOfTwoProcesses) {
  run_processes("sizes", {2, 2});
  run_processes("types", {1, 3});
}

TEST(AllReduceProcesses, ThroughSharedMemory) {
  const ScopedEnv off("NCCL_P2P_DISABLE", "1");
  run_processes("sizes", {1, 1, 1});
  run_processes("sizes", {2, 2});
}

TEST(AllReduceProcesses, ThroughSharedMemoryWhenIpcFails) {
  const ScopedEnv fault("WEFT_HOST_FAULTS", "ipc_import");
  run_processes("sizes", {1, 1});
}

TEST(AllReduceProcesses, OcpEncodingOfFp8) {
  const ScopedEnv arch("WEFT_HOST_ARCH", "gfx950");
  run_processes("types", {2, 1});
}

TEST(AllReduceProcesses, CountersPassTheirWrapWithRandomGrids) {
  const ScopedEnv base("WEFT_EPOCH_BASE", "4294967196");
  const ScopedEnv grid("WEFT_RANDOM_GRID", "9");
  std::cout << "WEFT_RANDOM_GRID=9\n";
  run_processes("sizes", {1, 2, 1});
}

TEST(AllReduceProcesses, CiLarge) { run_processes("large", {1, 1, 1, 1}); }

std::string run_rank(const std::string& work, const ncclUniqueId& id, int rank, int size) {
  ncclComm_t comm = nullptr;
  require_hip(hipSetDevice(rank), "hipSetDevice");
  require_ok(ncclCommInitRank(&comm, size, id, rank), "ncclCommInitRank");
  std::string wrong;
  for (const Case& what : cases_of(work)) {
    const RankBuffers buffers(what, rank, size);
    require_ok(buffers.all_reduce(comm, nullptr), "ncclAllReduce");
    require_hip(hipStreamSynchronize(nullptr), "hipStreamSynchronize");
    if (wrong.empty()) wrong = buffers.check();
  }
  ncclResult_t async = ncclInternalError;
  require_ok(ncclCommGetAsyncError(comm, &async), "ncclCommGetAsyncError");
  require_ok(async, "the asynchronous error");
  require_ok(ncclCommDestroy(comm), "ncclCommDestroy");
  return wrong;
}

}  // namespace

int run_as_process(const std::vector<std::string>& arguments) {
  const std::string work = arguments[0];
  const int first = std::stoi(arguments[1]), count = std::stoi(arguments[2]),
            size = std::stoi(arguments[3]);
  const ncclUniqueId id = from_hex(arguments[4]);
  std::mutex mutex;
  std::string wrong;
  std::vector<std::thread> threads;
  for (int rank = first; rank < first + count; ++rank)
    threads.emplace_back([&, rank] {
      std::string text;
      try {
        text = run_rank(work, id, rank, size);
      } catch (const std::exception& error) {
        text = fmt::format("rank {}: {}", rank, error.what());
      }
      const std::lock_guard lock(mutex);
      if (wrong.empty()) wrong = text;
    });
  for (std::thread& thread : threads) thread.join();
  std::cout << (wrong.empty() ? "ALL RIGHT" : wrong) << std::endl;
  return wrong.empty() ? 0 : 1;
}

}  // namespace weft::test
