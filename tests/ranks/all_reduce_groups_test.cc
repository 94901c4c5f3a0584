// Groups, several communicators, several streams, and graphs: how calls may be put together.
#include "../support/local_ranks.h"
#include "../unit/scoped_log.h"
#include "all_reduce_rank.h"

namespace weft::test {
namespace {

// The buffers of all ranks of one AllReduce.
class Operation {
 public:
  Operation(const LocalRanks& ranks, const Case& what) {
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const LocalRanks::OnDevice scope(rank);
      buffers_.push_back(std::make_unique<RankBuffers>(what, rank, ranks.size()));
    }
  }
  const RankBuffers& operator[](int rank) const { return *buffers_[size_t(rank)]; }
  void call(const LocalRanks& ranks, int rank) const { call(ranks, rank, ranks.stream(rank)); }
  void call(const LocalRanks& ranks, int rank, hipStream_t stream) const {
    require_ok((*this)[rank].all_reduce(ranks.comm(rank), stream), "ncclAllReduce");
  }
  void check() const {
    for (const auto& each : buffers_) EXPECT_EQ(each->check(), "");
  }

 private:
  std::vector<std::unique_ptr<RankBuffers>> buffers_;
};

class InGroup {
 public:
  InGroup() { require_ok(ncclGroupStart(), "ncclGroupStart"); }
  ~InGroup() { EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr); }
  InGroup(const InGroup&) = delete;
  InGroup& operator=(const InGroup&) = delete;
};

std::vector<Operation> make(const LocalRanks& ranks, const std::vector<Case>& cases) {
  std::vector<Operation> operations;
  for (const Case& what : cases) operations.emplace_back(ranks, what);
  return operations;
}

// More than one launch holds.
TEST(Groups, ManyOperationsOfOneType) {
  const LocalRanks ranks(4);
  std::vector<Case> cases;
  for (uint64_t i = 0; i < 21; ++i)
    cases.push_back({ncclFloat32, ncclSum, size_t(1 + i * 977), i % 2 == 0, i % 4, i});
  const auto operations = make(ranks, cases);
  {
    const InGroup group;
    for (const Operation& operation : operations)
      for (int rank = 0; rank < ranks.size(); ++rank) operation.call(ranks, rank);
  }
  ranks.synchronize();
  for (const Operation& operation : operations) operation.check();
}

TEST(Groups, OperationsOfDifferentTypesAndSizesWithEmptyOnesBetween) {
  const LocalRanks ranks(3);
  const auto operations = make(ranks, {{ncclFloat32, ncclSum, 10'000, false, 0, 1},
                                       {ncclInt8, ncclMax, 77, true, 3, 2},
                                       {ncclFloat64, ncclSum, 0, false, 0, 3},
                                       {ncclFloat32, ncclProd, 5, false, 1, 4},
                                       {ncclBfloat16, ncclAvg, 300'001, true, 0, 5},
                                       {ncclFloat32, ncclMin, 0, false, 0, 6},
                                       {ncclFloat32, ncclMax, 123, false, 0, 7}});
  for (int round = 0; round < 3; ++round) {
    for (const Operation& operation : operations)
      for (int rank = 0; rank < ranks.size(); ++rank) operation[rank].refill();
    {
      const InGroup group;
      for (const Operation& operation : operations)
        for (int rank = 0; rank < ranks.size(); ++rank) operation.call(ranks, rank);
    }
    ranks.synchronize();
    for (const Operation& operation : operations) operation.check();
  }
}

// Each rank's thread may group its calls as it likes as long as their order is the same.
TEST(Groups, RanksThatGroupDifferently) {
  constexpr int kRanks = 3;
  const LocalRanks ranks(kRanks);
  std::vector<Case> cases;
  for (uint64_t i = 0; i < 6; ++i) cases.push_back({ncclInt32, ncclSum, 400 + i, false, 0, i});
  const auto operations = make(ranks, cases);
  on_threads(kRanks, [&](int rank) {
    for (size_t i = 0; i < operations.size(); ++i) {
      const bool grouped = rank == 1 || (rank == 2 && i % 3 == 0);
      if (rank == 1 ? i == 0 : grouped) require_ok(ncclGroupStart(), "ncclGroupStart");
      operations[i].call(ranks, rank);
      if (rank == 1 ? i + 1 == operations.size() : grouped)
        require_ok(ncclGroupEnd(), "ncclGroupEnd");
    }
  });
  ranks.synchronize();
  for (const Operation& operation : operations) operation.check();
}

TEST(Groups, NestedGroupsEndWithTheOutermost) {
  const LocalRanks ranks(2);
  const Operation first(ranks, {ncclFloat32, ncclSum, 1000, false, 0, 1}),
      second(ranks, {ncclFloat32, ncclSum, 2000, false, 0, 2});
  {
    const InGroup outer;
    {
      const InGroup inner;
      first.call(ranks, 0);
      first.call(ranks, 1);
    }
    EXPECT_NE(first[0].check(), "");  // nothing has run yet
    const InGroup again;
    second.call(ranks, 1);
    second.call(ranks, 0);
  }
  ranks.synchronize();
  first.check();
  second.check();
}

TEST(Groups, SeveralCommunicatorsOfAThread) {
  const LocalRanks a(4), b(2), c(3, LocalRanks::kThreads);
  const Operation in_a(a, {ncclFloat32, ncclSum, 50'000, false, 0, 1}),
      in_b(b, {ncclInt64, ncclProd, 3000, true, 1, 2}), in_c(c, {ncclFloat16, ncclMax, 9999}),
      more_a(a, {ncclFloat32, ncclAvg, 777, false, 0, 4});
  {
    const InGroup group;
    for (int rank = 0; rank < 4; ++rank) {
      in_a.call(a, rank);
      if (rank < 2) in_b.call(b, rank);
      if (rank < 3) in_c.call(c, rank);
      more_a.call(a, rank);
    }
  }
  a.synchronize();
  b.synchronize();
  c.synchronize();
  in_a.check();
  in_b.check();
  in_c.check();
  more_a.check();
}

// A13 b: without a group, one thread and all ranks: the host never waits for other ranks.
TEST(Groups, A13OneThreadWithoutAGroup) {
  const LocalRanks ranks(4);
  const Operation operation(ranks, {ncclFloat32, ncclSum, 100'000, false, 0, 1});
  for (int rank = 0; rank < 4; ++rank) operation.call(ranks, rank);
  ranks.synchronize();
  operation.check();
}

// A15
TEST(Groups, A15HandlesOfInitsInAGroupAreValidAfterItsEnd) {
  constexpr int kRanks = 4;
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclComm_t comms[kRanks] = {};
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < kRanks; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    ASSERT_EQ(ncclCommInitRank(&comms[rank], kRanks, id, rank), ncclSuccess);
    EXPECT_EQ(comms[rank], nullptr);
  }
  int count = 0;
  EXPECT_EQ(ncclCommCount(comms[0], &count), ncclInvalidArgument);  // a question: no crash
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclFloat, ncclSum, comms[0], nullptr),
            ncclInvalidArgument);  // fails the group
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  for (const ncclComm_t comm : comms) EXPECT_EQ(comm, nullptr);
  {
    const InGroup group;
    for (int rank = 0; rank < kRanks; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      EXPECT_EQ(ncclCommInitRank(&comms[rank], kRanks, id, rank), ncclSuccess);
    }
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(ncclCommCount(comms[rank], &count), ncclSuccess);
    EXPECT_EQ(count, kRanks);
  }
  for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Streams, OneCommunicatorOnSeveralStreamsInTurn) {
  constexpr int kRanks = 3, kStreams = 4, kOperations = 40;
  const LocalRanks ranks(kRanks);
  std::vector<Case> cases;
  for (uint64_t i = 0; i < kOperations; ++i)
    cases.push_back({ncclFloat32, ncclSum, size_t(mix(i) % 30'000), false, 0, i});
  const auto operations = make(ranks, cases);
  on_threads(kRanks, [&](int rank) {
    hipStream_t streams[kStreams];
    for (hipStream_t& stream : streams)
      require_hip(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreate");
    for (size_t i = 0; i < operations.size(); ++i)  // every rank changes streams in its own way
      operations[i].call(ranks, rank, streams[mix(i + size_t(rank) * 100) % kStreams]);
    for (hipStream_t stream : streams) {
      require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
      require_hip(hipStreamDestroy(stream), "hipStreamDestroy");
    }
  });
  for (const Operation& operation : operations) operation.check();
}

// The stream of an earlier call may be gone, and its handle used again.
TEST(Streams, AStreamMayBeDestroyedAfterItsCalls) {
  const LocalRanks ranks(2);
  const Operation operation(ranks, {ncclFloat32, ncclSum, 5000, false, 0, 1});
  for (int round = 0; round < 20; ++round) {
    hipStream_t streams[2];
    for (int rank = 0; rank < 2; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      operation[rank].refill();
      require_hip(hipStreamCreateWithFlags(&streams[rank], hipStreamNonBlocking), "stream");
      operation.call(ranks, rank, streams[rank]);
    }
    for (hipStream_t stream : streams) {
      require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
      require_hip(hipStreamDestroy(stream), "hipStreamDestroy");
    }
    operation.check();
  }
}

TEST(Streams, TheNullStreamAndThePerThreadStream) {
  const LocalRanks ranks(2);
  for (const hipStream_t stream : {hipStream_t(nullptr), hipStreamPerThread}) {
    const Operation operation(ranks, {ncclFloat32, ncclSum, 5000, false, 0, 1});
    on_threads(2, [&](int rank) {
      operation.call(ranks, rank, stream);
      require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
    });
    operation.check();
  }
}

TEST(Communicators, TwoOnTheSameDevicesAtOnce) {
  const LocalRanks a(4), b(4);
  std::vector<Case> cases;
  for (uint64_t i = 0; i < 20; ++i)
    cases.push_back({ncclInt32, ncclSum, size_t(mix(i) % 60'000), false, 0, i});
  const auto in_a = make(a, cases), in_b = make(b, cases);
  on_threads(8, [&](int thread) {
    const int rank = thread % 4;
    const LocalRanks::OnDevice scope(rank);
    const LocalRanks& ranks = thread < 4 ? a : b;
    for (const Operation& operation : thread < 4 ? in_a : in_b) operation.call(ranks, rank);
  });
  a.synchronize();
  b.synchronize();
  for (const Operation& operation : in_a) operation.check();
  for (const Operation& operation : in_b) operation.check();
}

// A graph of each rank: two AllReduces, the second of what the first gave.
class RankGraph {
 public:
  RankGraph(const LocalRanks& ranks, const Operation& operation, int rank)
      : stream_(ranks.stream(rank)) {
    hipGraph_t graph = nullptr;
    require_hip(hipStreamBeginCapture(stream_, hipStreamCaptureModeThreadLocal), "capture");
    operation.call(ranks, rank);
    require_hip(hipStreamEndCapture(stream_, &graph), "hipStreamEndCapture");
    require_hip(hipGraphInstantiate(&executable_, graph, nullptr, nullptr, 0), "instantiate");
    require_hip(hipGraphDestroy(graph), "hipGraphDestroy");
  }
  ~RankGraph() { (void)hipGraphExecDestroy(executable_); }
  RankGraph(const RankGraph&) = delete;
  RankGraph& operator=(const RankGraph&) = delete;
  void launch() const { require_hip(hipGraphLaunch(executable_, stream_), "hipGraphLaunch"); }

 private:
  hipStream_t stream_;
  hipGraphExec_t executable_ = nullptr;
};

TEST(Graphs, ReplayedManyTimesAmongEagerCalls) {
  constexpr int kRanks = 3, kReplays = 100;
  const LocalRanks ranks(kRanks);
  const Operation captured(ranks, {ncclFloat32, ncclSum, 3001, false, 1, 1}),
      eager(ranks, {ncclBfloat16, ncclMax, 5000, false, 0, 2});
  on_threads(kRanks, [&](int rank) {
    const RankGraph graph(ranks, captured, rank);
    EXPECT_NE(captured[rank].check(), "") << "capturing must not run it";
    for (int replay = 0; replay < kReplays; ++replay) {
      graph.launch();
      if (replay % 3 == 0) eager.call(ranks, rank);
      if (replay % 25 != 0) continue;
      require_hip(hipStreamSynchronize(ranks.stream(rank)), "hipStreamSynchronize");
      EXPECT_EQ(captured[rank].check(), "");
      EXPECT_EQ(eager[rank].check(), "");
    }
    require_hip(hipStreamSynchronize(ranks.stream(rank)), "hipStreamSynchronize");
    EXPECT_EQ(captured[rank].check(), "");
    EXPECT_EQ(eager[rank].check(), "");
  });
}

// Eager calls on another stream: ordered by the caller, as graphs carry no ticket.
TEST(Graphs, EagerCallsOnAnotherStreamAfterAnEvent) {
  constexpr int kRanks = 2;
  const LocalRanks ranks(kRanks);
  const Operation captured(ranks, {ncclFloat32, ncclSum, 3001}), eager(ranks, {ncclInt8, ncclSum});
  on_threads(kRanks, [&](int rank) {
    const RankGraph graph(ranks, captured, rank);
    hipStream_t other = nullptr;
    hipEvent_t event = nullptr;
    require_hip(hipStreamCreateWithFlags(&other, hipStreamNonBlocking), "hipStreamCreate");
    require_hip(hipEventCreateWithFlags(&event, hipEventDisableTiming), "hipEventCreate");
    for (int round = 0; round < 20; ++round) {
      eager.call(ranks, rank, other);
      require_hip(hipEventRecord(event, other), "hipEventRecord");
      require_hip(hipStreamWaitEvent(ranks.stream(rank), event, 0), "hipStreamWaitEvent");
      graph.launch();
      require_hip(hipEventRecord(event, ranks.stream(rank)), "hipEventRecord");
      require_hip(hipStreamWaitEvent(other, event, 0), "hipStreamWaitEvent");
    }
    require_hip(hipStreamSynchronize(other), "hipStreamSynchronize");
    EXPECT_EQ(captured[rank].check(), "");
    EXPECT_EQ(eager[rank].check(), "");
    require_hip(hipEventDestroy(event), "hipEventDestroy");
    require_hip(hipStreamDestroy(other), "hipStreamDestroy");
  });
}

TEST(Graphs, AGroupInACapture) {
  constexpr int kRanks = 2;
  const LocalRanks ranks(kRanks);
  const Operation first(ranks, {ncclFloat32, ncclSum, 300}),
      second(ranks, {ncclInt32, ncclMax, 40'000}), third(ranks, {ncclFloat32, ncclSum, 301});
  std::vector<hipGraphExec_t> executables(kRanks);
  on_threads(kRanks, [&](int rank) {
    hipGraph_t graph = nullptr;
    hipGraphExec_t& executable = executables[size_t(rank)];
    const hipStream_t stream = ranks.stream(rank);
    require_hip(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), "capture");
    {
      const InGroup group;
      first.call(ranks, rank);
      second.call(ranks, rank);
      third.call(ranks, rank);
    }
    require_hip(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
    require_hip(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), "instantiate");
    require_hip(hipGraphDestroy(graph), "hipGraphDestroy");
    for (int i = 0; i < 10; ++i) require_hip(hipGraphLaunch(executable, stream), "hipGraphLaunch");
    require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
    require_hip(hipGraphExecDestroy(executable), "hipGraphExecDestroy");
  });
  first.check();
  second.check();
  third.check();
}

// P03: every element of a one-rank average is written, and nothing else.
TEST(OneRank, P03AverageOfBfloat16) {
  const LocalRanks ranks(1);
  std::vector<size_t> counts = {1'000'003};
  for (size_t count = 1; count <= 40; ++count) counts.push_back(count);
  for (const size_t count : counts) {
    const Operation operation(ranks, {ncclBfloat16, ncclAvg, count, false, count % 8, count});
    operation.call(ranks, 0);
    ranks.synchronize();
    operation.check();
  }
}

// L18: a communicator of one rank needs no buffers.
TEST(OneRank, L18AllocatesLessThanAMegabyte) {
  size_t before = 0, after = 0, total = 0;
  require_hip(hipMemGetInfo(&before, &total), "hipMemGetInfo");
  const LocalRanks ranks(1);
  const Operation operation(ranks, {ncclFloat32, ncclSum, 100});
  operation.call(ranks, 0);
  ranks.synchronize();
  operation.check();
  require_hip(hipMemGetInfo(&after, &total), "hipMemGetInfo");
  EXPECT_LT(before - after, size_t(1) << 20);
}

// P07: fp8 beyond the first 16 elements.
TEST(Fp8, P07SumAndMaxOfManyElements) {
  const LocalRanks ranks(4);
  for (const ncclDataType_t type : {ncclFloat8e4m3, ncclFloat8e5m2})
    for (const ncclRedOp_t op : {ncclSum, ncclMax})
      for (const size_t count : {64, 65, 1000}) {
        const Operation operation(ranks, {type, op, count, false, 0, count});
        for (int rank = 0; rank < 4; ++rank) operation.call(ranks, rank);
        ranks.synchronize();
        operation.check();
      }
}

// P04: equal inputs near the largest value, whose sum would overflow: as docs/numerics.md states
// it, rounded by the tables of the reference. A ring rounds at every hop, a direct algorithm once.
class AverageNearTheLargest : public ::testing::TestWithParam<const char*> {};

double expected_average(const Kind& kind, int size, bool rounds_each_hop) {
  double whole = 1;
  while ((rounds_each_hop || kind.type != ncclFloat16) && whole < size) whole *= 2;
  const auto part = float(kind.table->largest() / whole);
  float sum = part;
  for (int k = 1; k < size; ++k) {
    if (rounds_each_hop) sum = float(kind.table->rounded(sum));
    sum += part;
  }
  return double(sum * float(float(whole) / float(size)));
}

TEST_P(AverageNearTheLargest, P04) {
  const ScopedEnv algorithm("NCCL_ALGO", GetParam());
  for (const int size : {3, 10}) {
    const LocalRanks ranks(size);
    for (const ncclDataType_t type : {ncclFloat16, ncclBfloat16}) {
      const Kind& kind = kind_of(type, false);
      const uint64_t in = bits_of(kind, kind.table->largest());
      const uint64_t want =
          bits_of(kind, expected_average(kind, size, GetParam() == std::string("Ring")));
      std::vector<std::unique_ptr<GuardedBuffer>> buffers;
      std::vector<char> pattern(2);
      for (int rank = 0; rank < size; ++rank) {
        const LocalRanks::OnDevice on(rank);
        buffers.push_back(std::make_unique<GuardedBuffer>(2000, 0));
        std::memcpy(pattern.data(), &in, 2);
        buffers.back()->write(repeated(pattern, 2000));
      }
      for (int rank = 0; rank < size; ++rank) {
        void* data = buffers[size_t(rank)]->data();
        require_ok(
            ncclAllReduce(data, data, 1000, type, ncclAvg, ranks.comm(rank), ranks.stream(rank)),
            "ncclAllReduce");
      }
      ranks.synchronize();
      std::memcpy(pattern.data(), &want, 2);
      EXPECT_TRUE(std::isfinite(value_of(kind, want)));
      for (const auto& buffer : buffers) EXPECT_EQ(buffer->compare(pattern, 2), "") << kind.name;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Algorithms, AverageNearTheLargest, ::testing::Values("Ring", "Direct"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weft::test
