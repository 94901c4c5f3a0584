// Schedules that a program brings (mscclLoadAlgo, mscclRunAlgo, mscclUnloadAlgo): what they move is
// right, and what is wrong with them is said.
#include "../../support/expect_error.h"
#include "../../support/local_ranks.h"
#include "../../support/schedule_xml.h"
#include "../../unit/scoped_log.h"
#include "rank_operation.h"

namespace weft::test {
namespace {

constexpr int kScheduleRanks = 4;

class SchedulesOfFiles : public testing::Test {
 protected:
  // The last error says why a schedule is not loaded.
  ncclResult_t load(const std::string& xml, mscclAlgoHandle_t* handle, int rank = 0) {
    return mscclLoadAlgo(folder_.write("schedule.xml", xml).c_str(), handle, rank);
  }
  void SetUp() override {
    mscclAlgoHandle_t handle = 0;
    if (load(ring_all_reduce(2), &handle) == ncclSuccess) return;
    const std::string text = ncclGetLastError(nullptr);
    if (text.find("without pugixml") != std::string::npos) GTEST_SKIP() << text;
    FAIL() << text;
  }

  TempFolder folder_;
};

void run_schedule(const LocalRanks& ranks, const Operation& what) {
  std::vector<std::unique_ptr<RankOperation>> parts;
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const LocalRanks::OnDevice scope(rank);
    parts.push_back(std::make_unique<RankOperation>(what, rank, ranks.size()));
    parts.back()->issue(ranks.comm(rank), ranks.stream(rank));
  }
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  ranks.synchronize();
  for (const auto& part : parts) EXPECT_EQ(part->check(), "");
}

Operation scheduled(Call call, mscclAlgoHandle_t schedule) {
  Operation o;
  o.call = call;
  o.schedule = schedule;
  return o;
}

TEST_F(SchedulesOfFiles, CarryOutTheirCollective) {
  const LocalRanks ranks(kScheduleRanks);
  for (const char* protocol : {"LL", "LL128", "Simple"})
    for (const auto& [call, xml] : std::initializer_list<std::pair<Call, std::string>>{
             {Call::kAllReduce, ring_all_reduce(kScheduleRanks)},
             {Call::kAllReduce, all_pairs_all_reduce(kScheduleRanks)},
             {Call::kReduceScatter, reduce_scatter(kScheduleRanks)},
             {Call::kAllGather, all_gather(kScheduleRanks)},
             {Call::kAlltoAll, all_to_all(kScheduleRanks)}}) {
      mscclAlgoHandle_t handle = 0;
      require_ok(load(changed(xml, "\"Simple\"", "\"" + std::string(protocol) + "\""), &handle),
                 "mscclLoadAlgo");
      Operation o = scheduled(call, handle);
      for (const size_t count : {0, 1, 5, 1'024, 70'001})
        for (const bool in_place : {false, true}) {
          o.count = count;
          o.in_place = in_place && call != Call::kAlltoAll;
          o.type = in_place ? ncclBfloat16 : ncclFloat32;
          o.op = !in_place && reduces(call) ? ncclAvg : ncclSum;
          o.send_offset = o.receive_offset = count % 3;
          run_schedule(ranks, o);
        }
      require_ok(mscclUnloadAlgo(handle), "mscclUnloadAlgo");
    }
}

// Each rank on a thread and with a handle of its own, beside other operations, with blocks at
// random.
TEST_F(SchedulesOfFiles, OfRanksThatAreThreads) {
  const ScopedEnv grid("WEFT_RANDOM_GRID", "5");
  const LocalRanks ranks(kScheduleRanks, LocalRanks::kThreads);
  std::vector<mscclAlgoHandle_t> ring(kScheduleRanks), pairs(kScheduleRanks);
  for (int rank = 0; rank < kScheduleRanks; ++rank) {
    require_ok(load(ring_all_reduce(kScheduleRanks), &ring[size_t(rank)], rank), "mscclLoadAlgo");
    require_ok(load(all_pairs_all_reduce(kScheduleRanks), &pairs[size_t(rank)], rank),
               "mscclLoadAlgo");
  }
  on_threads(kScheduleRanks, [&](int rank) {
    for (uint64_t i = 0; i < 60; ++i) {
      const auto& handles = i % 3 == 0 ? ring : pairs;
      Operation o = scheduled(Call::kAllReduce, i % 3 == 2 ? 0 : handles[size_t(rank)]);
      o.count = mix(i) % 50'000;
      o.seed = i;
      RankOperation part(o, rank, kScheduleRanks);
      part.issue(ranks.comm(rank), ranks.stream(rank));
      require_hip(hipStreamSynchronize(ranks.stream(rank)), "hipStreamSynchronize");
      EXPECT_EQ(part.check(), "");
    }
  });
}

TEST_F(SchedulesOfFiles, RunOnAfterTheyAreUnloaded) {
  const LocalRanks ranks(kScheduleRanks);
  mscclAlgoHandle_t handle = 0;
  require_ok(load(ring_all_reduce(kScheduleRanks), &handle), "mscclLoadAlgo");
  Operation o = scheduled(Call::kAllReduce, handle);
  o.count = 3'000'000;
  std::vector<std::unique_ptr<RankOperation>> parts;
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < kScheduleRanks; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    parts.push_back(std::make_unique<RankOperation>(o, rank, kScheduleRanks));
    parts.back()->issue(ranks.comm(rank), ranks.stream(rank));
  }
  require_ok(mscclUnloadAlgo(handle), "mscclUnloadAlgo");  // the group has not begun
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  const auto again = [&] { return parts[0]->call(ranks.comm(0), ranks.stream(0)); };
  expect_error(again(), ncclInvalidArgument, {"mscclRunAlgo", "handle"});
  expect_error(mscclUnloadAlgo(handle), ncclInvalidArgument, {"mscclUnloadAlgo", "handle"});
  ranks.synchronize();
  for (const auto& part : parts) EXPECT_EQ(part->check(), "");
}

TEST_F(SchedulesOfFiles, WrongOnesAreRefused) {
  mscclAlgoHandle_t handle = -7;
  const std::string right = ring_all_reduce(kScheduleRanks);
  const size_t step = right.find("<step s=\"6\""), end = right.find('\n', step);
  ASSERT_NE(step, std::string::npos);
  std::string without = right;
  without.erase(step, end - step + 1);  // the last step of gpu 0
  expect_error(load(without, &handle), ncclInvalidUsage, {"schedule t", "gpu"});
  expect_error(load("<algo/>", &handle), ncclInvalidUsage, {"schedule: /algo"});
  expect_error(load(right, &handle, kScheduleRanks), ncclInvalidArgument,
               {"mscclLoadAlgo", "rank 4"});
  expect_error(load(right, nullptr), ncclInvalidArgument, {"mscclAlgoHandle"});
  expect_error(mscclLoadAlgo(nullptr, &handle, 0), ncclInvalidArgument, {"mscclAlgoFilePath"});
  const std::string absent = folder_.file("absent.xml");
  expect_error(mscclLoadAlgo(absent.c_str(), &handle, 0), ncclSystemError,
               {absent, "No such file"});
  EXPECT_EQ(handle, -7);
}

TEST_F(SchedulesOfFiles, CallsThatDoNotFitAreRefused) {
  const ScopedEnv on("WEFT_DETERMINISTIC", "1");
  const LocalRanks ranks(kScheduleRanks);
  mscclAlgoHandle_t two = 0, ring = 0, pairs = 0;
  require_ok(load(ring_all_reduce(2), &two), "mscclLoadAlgo");
  require_ok(load(ring_all_reduce(kScheduleRanks), &ring), "mscclLoadAlgo");
  require_ok(load(all_pairs_all_reduce(kScheduleRanks), &pairs), "mscclLoadAlgo");
  const auto call = [&](mscclAlgoHandle_t handle) {
    return RankOperation(scheduled(Call::kAllReduce, handle), 0, kScheduleRanks)
        .call(ranks.comm(0), ranks.stream(0));
  };
  expect_error(call(two), ncclInvalidArgument, {"for 2 ranks", "has 4"});
  expect_error(call(ring), ncclInvalidUsage, {"WEFT_DETERMINISTIC", "rank order"});
  Operation o = scheduled(Call::kAllReduce, pairs);
  o.count = 1'000;
  run_schedule(ranks, o);
}

}  // namespace
}  // namespace weft::test
