// Captured operations: the order of executions, and how long a communicator lives. Cases G...
#include "../../api/failing_ranks.h"
#include "../../unit/scoped_log.h"
#include "rank_graph.h"
#include "rank_operation.h"

namespace weft::test {
namespace {

// One rank's operations and a graph of each.
struct Rank {
  std::vector<std::unique_ptr<RankOperation>> operations;
  std::vector<RankGraph> graphs;

  Rank(const std::vector<Operation>& all, int rank, const LocalRanks& ranks) {
    for (const Operation& each : all) {
      operations.push_back(std::make_unique<RankOperation>(each, rank, ranks.size()));
      graphs.emplace_back(ranks.stream(rank), hipStreamCaptureModeThreadLocal,
                          [&] { operations.back()->issue(ranks.comm(rank), ranks.stream(rank)); });
    }
  }
  void expect_right() const {
    for (const auto& each : operations) EXPECT_EQ(each->check(), "");
  }
};

// Four graphs of one communicator at once, each on a stream of its own, and calls on a fifth one
// between them; nobody orders them.
TEST(Graphs, G03FourGraphsAtOnce) {
  const ScopedEnv limit("WEFT_TIMEOUT", "60");
  constexpr int kRanks = 3, kRounds = 40;
  constexpr size_t kGraphs = 4;
  const LocalRanks ranks(kRanks);
  std::vector<Operation> captured;
  for (size_t i = 0; i < kGraphs; ++i) captured.push_back(all_reduce(2'000 + 30'000 * i, i));
  on_threads(kRanks, [&](int rank) {
    const Rank mine(captured, rank, ranks);
    RankOperation eager(all_reduce(5'000, 77), rank, kRanks);
    const Streams streams(kGraphs + 1);
    for (size_t round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < kGraphs; ++i) {
        mine.operations[i]->refill();
        mine.graphs[i].launch(streams[(i + round * 3) % kGraphs]);
        if ((round + i) % 3 == 0) eager.issue(ranks.comm(rank), streams[kGraphs]);
      }
      streams.synchronize();
      mine.expect_right();
    }
    EXPECT_EQ(eager.check(), "");
  });
}

// What was called before the first capture, and still waits for another rank, comes first.
TEST(Graphs, G03CallsBeforeTheFirstCapture) {
  const ScopedEnv limit("WEFT_TIMEOUT", "60");
  constexpr int kRanks = 2;
  const LocalRanks ranks(kRanks);
  for (int round = 0; round < 5; ++round) {
    std::vector<std::unique_ptr<RankOperation>> eager;
    std::vector<std::unique_ptr<Rank>> captured;
    const Streams streams(1);
    for (int rank = 0; rank < kRanks; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      eager.push_back(std::make_unique<RankOperation>(all_reduce(90'000, 1), rank, kRanks));
      const Streams gone(1);
      eager.back()->issue(ranks.comm(rank), gone[0]);
      captured.push_back(std::make_unique<Rank>(std::vector{all_reduce(70'000, 2)}, rank, ranks));
      captured.back()->graphs[0].launch(ranks.stream(rank));
    }
    ranks.synchronize();
    for (int rank = 0; rank < kRanks; ++rank) {
      captured[size_t(rank)]->expect_right();
      EXPECT_EQ(eager[size_t(rank)]->check(), "");
    }
  }
}

// Two streams of one capture, which the program does not order.
TEST(Graphs, G03TwoStreamsOfOneCapture) {
  const ScopedEnv limit("WEFT_TIMEOUT", "60");
  constexpr int kRanks = 2;
  const LocalRanks ranks(kRanks);
  on_threads(kRanks, [&](int rank) {
    std::vector<std::unique_ptr<RankOperation>> operations;
    for (uint64_t i = 0; i < 6; ++i)
      operations.push_back(
          std::make_unique<RankOperation>(all_reduce(1'000 + 20'000 * i, i), rank, kRanks));
    const Streams fork(1);
    const hipStream_t stream = ranks.stream(rank);
    const RankGraph graph(stream, hipStreamCaptureModeThreadLocal, [&] {
      order(stream, fork[0]);
      for (size_t i = 0; i < operations.size(); ++i)
        operations[i]->issue(ranks.comm(rank), i % 2 == 0 ? stream : fork[0]);
      order(fork[0], stream);
    });
    for (int replay = 0; replay < 30; ++replay) {
      for (const auto& each : operations) each->refill();
      graph.launch(stream);
      require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
      for (const auto& each : operations) EXPECT_EQ(each->check(), "");
    }
  });
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// Ranks of one thread, each with a graph of one AllReduce that was replayed and is right.
struct Replayed {
  explicit Replayed(size_t count, int size = 2) : ranks(size) {
    for (int rank = 0; rank < size; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      parts.push_back(std::make_unique<Rank>(std::vector{all_reduce(count, 5)}, rank, ranks));
    }
    launch();
    ranks.synchronize();
    for (const auto& part : parts) part->expect_right();
  }
  void launch() const {
    for (int rank = 0; rank < ranks.size(); ++rank)
      parts[size_t(rank)]->graphs[0].launch(ranks.stream(rank));
  }
  // Soon, each of them.
  void close(ncclResult_t (*how)(ncclComm_t)) {
    for (int rank = 0; rank < ranks.size(); ++rank)
      EXPECT_LT(milliseconds_of([&] { EXPECT_EQ(how(ranks.take(rank)), ncclSuccess); }), kSoonMs);
  }
  LocalRanks ranks;
  std::vector<std::unique_ptr<Rank>> parts;
};

// Launched after its communicator has gone, a graph ends and changes nothing, and a warning says
// why. What its kernels read is not given to the next communicator meanwhile.
TEST(Graphs, G01TheCommunicatorGoesBeforeItsGraph) {
  for (const auto how : {ncclCommDestroy, ncclCommAbort}) {
    Replayed replayed(20'000);
    replayed.close(how);
    const LocalRanks next(2);
    log_warn("nothing yet");
    for (int round = 0; round < 3; ++round) {
      std::vector<std::unique_ptr<RankOperation>> others;
      for (const auto& part : replayed.parts) part->operations[0]->refill();
      for (int rank = 0; rank < 2; ++rank) {
        const LocalRanks::OnDevice scope(rank);
        others.push_back(std::make_unique<RankOperation>(all_reduce(40'000, 9), rank, 2));
        others.back()->issue(next.comm(rank), next.stream(rank));
      }
      replayed.launch();
      replayed.ranks.synchronize();
      next.synchronize();
      for (const auto& other : others) EXPECT_EQ(other->check(), "");
      for (const auto& part : replayed.parts) EXPECT_NE(part->operations[0]->check(), "");
    }
    EXPECT_TRUE(eventually([] {
      return log_last_warning().find("communicator which was destroyed") != std::string::npos;
    })) << log_last_warning();
  }
}

// An execution that waits for a rank which never comes ends with the abort.
TEST(Graphs, G01AbortWhileAGraphRuns) {
  Replayed replayed(50'000);
  replayed.parts[0]->graphs[0].launch(replayed.ranks.stream(0));
  replayed.close(ncclCommAbort);
  replayed.ranks.synchronize();
}

// Memory goes with the later of both, whichever that is.
TEST(Graphs, G01NothingIsLeftOfGraphsAndCommunicators) {
  constexpr int kRounds = 30, kSettled = 5;
  size_t settled = 0, now = 0, total = 0;
  for (int round = 0; round < kRounds; ++round) {
    {
      Replayed replayed(1'000);
      if (round % 3 == 0) replayed.parts.clear();  // the graph goes first
      replayed.close(round % 2 == 0 ? ncclCommDestroy : ncclCommAbort);
    }
    require_hip(hipMemGetInfo(&now, &total), "hipMemGetInfo");
    if (round < kSettled) settled = now;
    ASSERT_TRUE(eventually([&] {
      const LocalRanks probe(2);  // takes what was given back
      require_hip(hipMemGetInfo(&now, &total), "hipMemGetInfo");
      return round < kSettled || now + (size_t(1) << 20) > settled;
    })) << "round "
        << round << ": " << settled - now << " bytes less";
  }
}

}  // namespace
}  // namespace weft::test
