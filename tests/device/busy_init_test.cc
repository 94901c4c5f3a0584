// A kernel of one communicator waits on the device for a rank whose call comes late. Meanwhile
// other threads make, use and close communicators on the same devices: nothing that they do
// (loading kernels, allocating, mapping, copying, freeing) may wait for that kernel.
#include <future>

#include "../ranks/all_reduce_rank.h"
#include "../support/child_processes.h"
#include "../support/local_ranks.h"
#include "../support/test_main.h"
#include "../support/unique_id_text.h"

namespace weft::test {
namespace {

constexpr std::chrono::seconds kLimit{30};
constexpr size_t kCount = 1000;

// Buffers of two ranks. Made and freed while nothing runs: freeing device memory waits for kernels.
std::vector<std::unique_ptr<RankBuffers>> two_buffers(uint64_t seed) {
  std::vector<std::unique_ptr<RankBuffers>> buffers;
  for (int rank = 0; rank < 2; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    buffers.push_back(
        std::make_unique<RankBuffers>(Case{ncclFloat32, ncclSum, kCount, false, 0, seed}, rank, 2));
  }
  return buffers;
}

class BusyInit : public testing::Test {
 protected:
  // Rank 0's kernel runs and waits for rank 1 when this returns.
  void SetUp() override {
    call(0);
    require_hip(hipStreamSynchronize(marker_stream()), "waiting for work beside the kernel");
  }
  void TearDown() override {
    for (int rank = 0; rank < 2; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      (void)hipStreamDestroy(others_[size_t(rank)]);
    }
  }

  void call(int rank) {
    const LocalRanks::OnDevice scope(rank);
    require_ok(buffers_[size_t(rank)]->all_reduce(ranks_.comm(rank), ranks_.stream(rank)),
               "ncclAllReduce");
  }
  bool waits() const { return hipStreamQuery(ranks_.stream(0)) == hipErrorNotReady; }

  // What `work` says ("" is good), which must end while rank 0's kernel waits; then that kernel's
  // partner comes.
  void run_beside(const std::function<std::string()>& work) {
    ASSERT_TRUE(waits());
    auto result = std::async(std::launch::async, work);
    const bool in_time = result.wait_for(kLimit) == std::future_status::ready;
    EXPECT_TRUE(in_time) << "blocked by a kernel that waits";
    EXPECT_TRUE(waits());
    call(1);
    EXPECT_EQ(result.get(), "");
    ranks_.synchronize();
    for (const auto& each : buffers_) EXPECT_EQ(each->check(), "");
  }

  // One AllReduce by both ranks of a communicator of this process.
  std::string use(const LocalRanks& ranks) const {
    require_ok(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank < 2; ++rank)
      require_ok(other_buffers_[size_t(rank)]->all_reduce(ranks.comm(rank), ranks.stream(rank)),
                 "ncclAllReduce");
    require_ok(ncclGroupEnd(), "ncclGroupEnd");
    ranks.synchronize();
    return "";
  }
  void check_others() const {
    for (const auto& each : other_buffers_) EXPECT_EQ(each->check(), "");
  }

  hipStream_t other_stream(int rank) const { return others_[size_t(rank)]; }
  const RankBuffers& other_buffers(int rank) const { return *other_buffers_[size_t(rank)]; }

 private:
  hipStream_t marker_stream() {
    for (int rank = 0; rank < 2; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      require_hip(hipStreamCreateWithFlags(&others_[size_t(rank)], hipStreamNonBlocking),
                  "hipStreamCreate");
    }
    return others_[0];
  }

  std::vector<std::unique_ptr<RankBuffers>> buffers_ = two_buffers(1),
                                            other_buffers_ = two_buffers(2);
  const LocalRanks ranks_{2};
  hipStream_t others_[2] = {};
};

TEST_F(BusyInit, ACommunicatorIsMadeAndUsed) {
  std::unique_ptr<LocalRanks> made;
  run_beside([&] {
    made = std::make_unique<LocalRanks>(2, LocalRanks::kThreads);
    return use(*made);
  });
  check_others();
}

TEST_F(BusyInit, ACommunicatorIsMadeUsedAndClosed) {
  run_beside([&] {
    const LocalRanks made(2);
    return use(made);
  });
  check_others();
}

TEST_F(BusyInit, ManyCommunicatorsComeAndGo) {
  run_beside([&] {
    for (int round = 0; round < 5; ++round) LocalRanks made(2);
    return "";
  });
}

// Memory of another process is mapped.
TEST_F(BusyInit, ACommunicatorWithAnotherProcess) {
  ChildProcesses children;
  run_beside([&]() -> std::string {
    ncclUniqueId id;
    require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
    children.start({"rank", to_hex(id)});
    require_hip(hipSetDevice(0), "hipSetDevice");
    ncclComm_t comm = nullptr;
    require_ok(ncclCommInitRank(&comm, 2, id, 0), "ncclCommInitRank");
    require_ok(other_buffers(0).all_reduce(comm, other_stream(0)), "ncclAllReduce");
    require_hip(hipStreamSynchronize(other_stream(0)), "hipStreamSynchronize");
    require_ok(ncclCommDestroy(comm), "ncclCommDestroy");
    const ChildResult child = children.collect(kLimit).at(0);
    return child.ok() ? "" : "the other process: " + child.output;
  });
  EXPECT_EQ(other_buffers(0).check(), "");
}

// Rank 1 of the last test.
int run_rank(const std::vector<std::string>& arguments) {
  require_hip(hipSetDevice(1), "hipSetDevice");
  ncclComm_t comm = nullptr;
  require_ok(ncclCommInitRank(&comm, 2, from_hex(arguments.at(0)), 1), "ncclCommInitRank");
  const RankBuffers buffers({ncclFloat32, ncclSum, kCount, false, 0, 2}, 1, 2);
  require_ok(buffers.all_reduce(comm, nullptr), "ncclAllReduce");
  require_hip(hipStreamSynchronize(nullptr), "hipStreamSynchronize");
  const std::string wrong = buffers.check();
  require_ok(ncclCommDestroy(comm), "ncclCommDestroy");
  std::cout << wrong << "\n";
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace weft::test

int main(int argc, char** argv) {
  return weft::test::test_main(argc, argv, {{"rank", weft::test::run_rank}});
}
