// WEFT_COST_FILE: a communicator chooses by the table that rank 0 read; a damaged one is refused on
// all ranks.
#include "../support/expect_error.h"
#include "../unit/scoped_log.h"
#include "failing_ranks.h"

namespace weft::test {
namespace {

constexpr int kCostRanks = 3;

std::string device_name() {
  hipDeviceProp_t properties{};
  require_hip(hipGetDeviceProperties(&properties, 0), "hipGetDeviceProperties");
  return properties.name;
}

std::string head(const std::string& device, int ranks) {
  return "format=1\ndevice=" + device + "\nranks=" + std::to_string(ranks) + "\n";
}

// Microseconds that the communicator expects of an all-reduce.
float estimated(ncclComm_t comm) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  void* memory = nullptr;
  require_hip(hipMalloc(&memory, 64), "hipMalloc");
  hipStream_t stream = nullptr;
  require_hip(hipStreamCreate(&stream), "hipStreamCreate");
  require_ok(ncclGroupStart(), "ncclGroupStart");
  require_ok(ncclAllReduce(memory, memory, 16, ncclFloat32, ncclSum, comm, stream),
             "ncclAllReduce");
  require_ok(ncclGroupSimulateEnd(&info), "ncclGroupSimulateEnd");
  require_hip(hipStreamDestroy(stream), "hipStreamDestroy");
  require_hip(hipFree(memory), "hipFree");
  return info.estimatedTime;
}

void expect_sums(const LocalRanks& ranks) {
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  constexpr size_t kCount = 3000;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const LocalRanks::OnDevice scope(rank);
    buffers.push_back(std::make_unique<GuardedBuffer>(kCount * sizeof(float), 0));
    std::fill_n(static_cast<float*>(buffers.back()->data()), kCount, float(rank + 1));
  }
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < ranks.size(); ++rank) {
    void* data = buffers[size_t(rank)]->data();
    require_ok(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, ranks.comm(rank),
                             ranks.stream(rank)),
               "ncclAllReduce");
  }
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  ranks.synchronize();
  for (const auto& buffer : buffers)
    EXPECT_EQ(static_cast<float*>(buffer->data())[kCount - 1], 6.0f);
}

TEST(CostFile, IsWhatACommunicatorGoesBy) {
  const TempFolder folder;
  const std::string path = folder.write(
      "costs", head(device_name(), kCostRanks) +
                   "launch_us=1000\nll.hop_us=700\nll.bytes_per_us=1:1e6\nll128.hop_us=1e4\n"
                   "simple.hop_us=100\nsimple.bytes_per_us=1:900,2:1000\nblock_us=1\n");
  const ScopedEnv setting("WEFT_COST_FILE", path);
  const ScopedLog log("INFO", "TUNING");
  const LocalRanks ranks(kCostRanks);
  // Two shots over Simple, where the built-in table takes one over LL.
  for (int rank = 0; rank < kCostRanks; ++rank) EXPECT_NEAR(estimated(ranks.comm(rank)), 1200, 1);
  EXPECT_EQ(count_of(log.text(), "costs: WEFT_COST_FILE of rank 0"), size_t(kCostRanks));
  expect_sums(ranks);
}

TEST(CostFile, OfRankZeroIsForAll) {
  const TempFolder folder;
  const std::string path =
      folder.write("costs", head(device_name(), kCostRanks) + "launch_us=5000\n");
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  // Settings are read when the call is made: by rank 0 with the variable, then by others without.
  ncclComm_t comms[kCostRanks] = {};
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < kCostRanks; ++rank) {
    std::optional<ScopedEnv> setting;
    if (rank == 0) setting.emplace("WEFT_COST_FILE", path);
    require_hip(hipSetDevice(rank), "hipSetDevice");
    require_ok(ncclCommInitRank(&comms[rank], kCostRanks, id, rank), "ncclCommInitRank");
  }
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  for (ncclComm_t comm : comms) EXPECT_GE(estimated(comm), 5000);
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(CostFile, OfAnotherDeviceIsNotUsedAndWarns) {
  const TempFolder folder;
  const std::string path =
      folder.write("costs", head("Some Other GPU", kCostRanks) + "launch_us=5000\n");
  const ScopedEnv setting("WEFT_COST_FILE", path);
  const ScopedLog log("INFO", "TUNING");
  const LocalRanks ranks(kCostRanks);
  for (int rank = 0; rank < kCostRanks; ++rank) EXPECT_LT(estimated(ranks.comm(rank)), 5000);
  EXPECT_EQ(count_of(log.text(), "WARN"), 1u) << log.text();
  expect_text(log.text(), {"WEFT_COST_FILE is not used", "Some Other GPU", device_name()});
}

// A part of a job's ranks is normal: nothing to warn of.
TEST(CostFile, OfAnotherNumberOfRanksIsNotUsed) {
  const TempFolder folder;
  const std::string path = folder.write("costs", head(device_name(), 7) + "launch_us=5000\n");
  const ScopedEnv setting("WEFT_COST_FILE", path);
  const ScopedLog log("INFO", "TUNING");
  const LocalRanks ranks(kCostRanks);
  for (int rank = 0; rank < kCostRanks; ++rank) EXPECT_LT(estimated(ranks.comm(rank)), 5000);
  EXPECT_EQ(count_of(log.text(), "WARN"), 0u) << log.text();
  expect_text(log.text(), {"costs: built in", "of 7 ranks"});
}

void expect_refused(const std::string& path, const std::vector<std::string>& parts) {
  const ScopedEnv setting("WEFT_COST_FILE", path);
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  on_threads(kCostRanks, [&](int rank) {
    ncclComm_t comm = nullptr;
    const ncclResult_t code = ncclCommInitRank(&comm, kCostRanks, id, rank);
    EXPECT_EQ(code, rank == 0 ? ncclInvalidUsage : ncclRemoteError);
    EXPECT_EQ(comm, nullptr);
    expect_text(ncclGetLastError(nullptr), parts);
  });
}

TEST(CostFile, DamagedIsRefusedOnAllRanks) {
  const TempFolder folder;
  const std::string path =
      folder.write("costs", head(device_name(), kCostRanks) + "ll.hop_us=fast\n");
  expect_refused(path, {"WEFT_COST_FILE=" + path, "line 4", "ll.hop_us=fast"});
  expect_refused(folder.file("none"), {"WEFT_COST_FILE", "cannot be read", "No such file"});
  expect_refused(folder.path().string(), {"WEFT_COST_FILE", "cannot be read"});
  expect_refused(folder.write("empty", ""), {"WEFT_COST_FILE", "format is missing"});
}

}  // namespace
}  // namespace weft::test
