// Captured operations: the order of executions, and how long a communicator lives. Cases G...
#include <unistd.h>

#include <fstream>

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

// In the strictest mode, in which no call that may wait or allocate is allowed, the first operation
// of a communicator can be captured, whichever it is.
TEST(Graphs, G06TheFirstOperationOfACommunicatorMayBeCaptured) {
  constexpr int kRanks = 3;
  for (int call = 0; call <= int(Call::kAlltoAllv); ++call) {
    const LocalRanks ranks(kRanks);
    Operation o = all_reduce(5'000, 3);
    o.call = Call(call);
    o.root = 1;
    for (int from = 0; o.call == Call::kAlltoAllv && from < kRanks; ++from)
      for (int to = 0; to < kRanks; ++to) o.messages.push_back({from, to, size_t(100 + from)});
    std::vector<std::unique_ptr<RankOperation>> parts;
    std::vector<RankGraph> graphs;
    for (int rank = 0; rank < kRanks; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      parts.push_back(std::make_unique<RankOperation>(o, rank, kRanks));
      graphs.emplace_back(ranks.stream(rank), hipStreamCaptureModeGlobal,
                          [&] { parts.back()->issue(ranks.comm(rank), ranks.stream(rank)); });
    }
    for (int rank = 0; rank < kRanks; ++rank) graphs[size_t(rank)].launch(ranks.stream(rank));
    ranks.synchronize();
    for (const auto& part : parts) EXPECT_EQ(part->check(), "");
  }
}

class CaptureModes : public ::testing::TestWithParam<hipStreamCaptureMode> {};

// Operations of one communicator on three streams of a capture.
TEST_P(CaptureModes, SeveralStreams) {
  constexpr int kRanks = 2;
  const LocalRanks ranks(kRanks);
  std::vector<std::unique_ptr<RankOperation>> operations;
  std::vector<RankGraph> graphs;
  for (int rank = 0; rank < kRanks; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    const Streams forks(2);
    const hipStream_t stream = ranks.stream(rank);
    const size_t first = operations.size();
    for (uint64_t i = 0; i < 3; ++i)
      operations.push_back(
          std::make_unique<RankOperation>(all_reduce(700 + i * 40'000, i), rank, kRanks));
    graphs.emplace_back(stream, GetParam(), [&] {
      for (const size_t i : {0, 1}) order(stream, forks[i]);
      operations[first]->issue(ranks.comm(rank), forks[1]);
      operations[first + 1]->issue(ranks.comm(rank), stream);
      operations[first + 2]->issue(ranks.comm(rank), forks[0]);
      for (const size_t i : {0, 1}) order(forks[i], stream);
    });
  }
  for (int replay = 0; replay < 10; ++replay) {
    for (const auto& each : operations) each->refill();
    for (int rank = 0; rank < kRanks; ++rank) graphs[size_t(rank)].launch(ranks.stream(rank));
    ranks.synchronize();
    for (const auto& each : operations) EXPECT_EQ(each->check(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, CaptureModes,
                         testing::Values(hipStreamCaptureModeGlobal,
                                         hipStreamCaptureModeThreadLocal,
                                         hipStreamCaptureModeRelaxed));

// Many graphs of one communicator alive, replayed in any order on two streams, calls between them.
TEST(Graphs, ManyAlive) {
  constexpr int kRanks = 2;
  constexpr size_t kGraphs = 120, kReplays = 400;
  const LocalRanks ranks(kRanks);
  std::vector<Operation> captured;
  for (size_t i = 0; i < kGraphs; ++i) captured.push_back(all_reduce(1 + mix(i) % 9'000, i));
  on_threads(kRanks, [&](int rank) {
    const Rank mine(captured, rank, ranks);
    RankOperation eager(all_reduce(3'000, 5), rank, kRanks);
    const Streams streams(2);
    for (size_t replay = 0; replay < kReplays; ++replay) {
      mine.graphs[mix(replay) % kGraphs].launch(streams[replay % 2]);
      if (replay % 5 == 0) eager.issue(ranks.comm(rank), streams[mix(replay) % 2]);
    }
    for (const RankGraph& graph : mine.graphs) graph.launch(streams[0]);
    streams.synchronize();
    mine.expect_right();
    EXPECT_EQ(eager.check(), "");
  });
}

size_t resident_bytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * size_t(sysconf(_SC_PAGESIZE));
}

// Neither device memory nor the process grows with the number of replays.
TEST(Graphs, TenThousandReplays) {
  constexpr int kRanks = 2, kReplays = 10'000, kSettled = 2'000, kTogether = 50;
  [[maybe_unused]] constexpr size_t kSlack = size_t(4)
                                             << 20;  // of what the runtime keeps of its own work
  const LocalRanks ranks(kRanks);
  std::vector<std::unique_ptr<Rank>> parts;
  for (int rank = 0; rank < kRanks; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    parts.push_back(std::make_unique<Rank>(std::vector{all_reduce(500, 8)}, rank, ranks));
  }
  size_t free_then = 0, free_now = 0, total = 0;
  [[maybe_unused]] size_t resident_then = 0;
  for (int replay = 1; replay <= kReplays; ++replay) {
    for (int rank = 0; rank < kRanks; ++rank)
      parts[size_t(rank)]->graphs[0].launch(ranks.stream(rank));
    if (replay % kTogether == 0) ranks.synchronize();
    if (replay != kSettled) continue;
    require_hip(hipMemGetInfo(&free_then, &total), "hipMemGetInfo");
    resident_then = resident_bytes();
  }
  require_hip(hipMemGetInfo(&free_now, &total), "hipMemGetInfo");
  EXPECT_EQ(free_now, free_then);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what is freed
  EXPECT_LT(resident_bytes(), resident_then + kSlack);
#endif
  for (const auto& part : parts) part->expect_right();
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
  constexpr int kRounds = 40, kSettled = 5;
  constexpr size_t kMore = 64 << 10;  // what more communicators at once than before took
  size_t settled = ~size_t(0), now = 0, total = 0;
  for (int round = 0; round < kRounds; ++round) {
    {
      Replayed replayed(1'000);
      if (round % 3 == 0) replayed.parts.clear();  // the graph goes first
      replayed.close(round % 2 == 0 ? ncclCommDestroy : ncclCommAbort);
    }
    const auto as_before = [&] {
      const LocalRanks probe(2);  // takes what was given back
      require_hip(hipMemGetInfo(&now, &total), "hipMemGetInfo");
      if (round < kSettled) settled = std::min(settled, now);
      return now + kMore >= settled;
    };
    ASSERT_TRUE(eventually(as_before)) << "round " << round << ": " << settled - now << " less";
  }
}

}  // namespace
}  // namespace weft::test
