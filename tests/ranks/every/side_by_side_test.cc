// Broadcasts, or reduces, that follow one another in a group: they run beside each other, are right
// however many channels there are, and are one call, so that ranks that group them differently are
// told.
#include "../../api/failing_ranks.h"
#include "../../unit/scoped_log.h"
#include "plan.h"
#include "rank_operation.h"

namespace weft::test {
namespace {

constexpr int kRootRanks = 4;

Operation rooted(Call call, int root, size_t count, uint64_t seed) {
  Operation o;
  o.call = call;
  o.root = root;
  o.count = count;
  o.seed = seed;
  return o;
}

// Of as many operations as a launch has works, or a few more, or few.
std::vector<Operation> row(Call call, size_t length, uint64_t seed) {
  std::vector<Operation> row;
  for (size_t i = 0; i < length; ++i) {
    const size_t sizes[] = {0, 1, 4'096, 70'001, 300'000};
    row.push_back(rooted(call, int(i) % kRootRanks, sizes[mix(seed + i) % 5], seed + i));
  }
  return row;
}

// Every rank issues all in one group, each on one of two streams.
void run_row(const LocalRanks& ranks, const std::vector<Operation>& operations) {
  on_threads(kRootRanks, [&](int rank) {
    hipStream_t second = nullptr;
    require_hip(hipStreamCreateWithFlags(&second, hipStreamNonBlocking), "hipStreamCreate");
    std::vector<std::unique_ptr<RankOperation>> parts;
    for (const Operation& o : operations)
      parts.push_back(std::make_unique<RankOperation>(o, rank, kRootRanks));
    require_ok(ncclGroupStart(), "ncclGroupStart");
    for (size_t i = 0; i < parts.size(); ++i)
      parts[i]->issue(ranks.comm(rank), (i + size_t(rank)) % 3 == 0 ? second : ranks.stream(rank));
    require_ok(ncclGroupEnd(), "ncclGroupEnd");
    for (const hipStream_t stream : {second, ranks.stream(rank)})
      require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
    for (const auto& part : parts) EXPECT_EQ(part->check(), "");
    require_hip(hipStreamDestroy(second), "hipStreamDestroy");
  });
}

TEST(SideBySide, EveryNumberOfChannels) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"NCCL_ALGO", "Direct"},
                                                                  {"NCCL_ALGO", "Ring"},
                                                                  {"NCCL_PROTO", "LL"},
                                                                  {"NCCL_MAX_NCHANNELS", "1"},
                                                                  {"NCCL_MAX_NCHANNELS", "3"},
                                                                  {"NCCL_MIN_NCHANNELS", "16"},
                                                                  {"WEFT_RANDOM_GRID", "9"}}) {
    SCOPED_TRACE(testing::Message() << name << "=" << value);
    const ScopedEnv env(name, value);
    const LocalRanks ranks(kRootRanks);
    for (const Call call : {Call::kBroadcast, Call::kReduce})
      for (const size_t length : {3, 8, 11}) run_row(ranks, row(call, length, length));
    // What is of another kind comes in its turn.
    std::vector<Operation> mixed = row(Call::kBroadcast, 3, 20);
    mixed.push_back(rooted(Call::kAllReduce, 0, 5'000, 30));
    for (const Operation& o : row(Call::kReduce, 4, 40)) mixed.push_back(o);
    for (const Operation& o : row(Call::kBroadcast, 2, 50)) mixed.push_back(o);
    run_row(ranks, mixed);
  }
}

// The launches of a group of broadcasts or reduces, one from each rank.
std::vector<Launch> planned(const LocalRanks& ranks, Collective collective, size_t count) {
  const auto comm = communicator_of(ranks.comm(0), "planned");
  std::vector<Request> requests;
  for (int root = 0; root < kRootRanks; ++root)
    requests.push_back(
        {collective, nullptr, nullptr, count, ncclFloat32, ncclSum, root, ranks.stream(0)});
  return comm->planner->plan(*comm, requests);
}

TEST(SideBySide, OneCallOnChannelsOfTheirOwn) {
  const ScopedEnv channels("NCCL_MIN_NCHANNELS", "16");
  const LocalRanks ranks(kRootRanks);
  for (const Collective collective : {Collective::kBroadcast, Collective::kReduce})
    for (const size_t count : {1, 1'000'000}) {
      const std::vector<Launch> launches = planned(ranks, collective, count);
      ASSERT_EQ(launches.size(), 1u);
      const auto& args = std::get<CollectiveArgs>(launches[0].args);
      ASSERT_EQ(args.works, uint32_t(kRootRanks));
      uint32_t next = 0;
      for (int i = 0; i < kRootRanks; ++i) {
        EXPECT_EQ(args.work[i].first_channel, next);
        EXPECT_EQ(args.work[i].signature, args.work[0].signature);
        EXPECT_EQ(args.work[i].call, uint32_t(kRootRanks - 1));
        next += args.work[i].chunking.channels;
      }
      EXPECT_EQ(launches[0].grid, next);
    }
}

// What all-reduces are: one after the other, each on all channels that it wants.
TEST(SideBySide, OthersTakeTurns) {
  const LocalRanks ranks(kRootRanks);
  const auto launches = planned(ranks, Collective::kAllReduce, 1'000'000);
  ASSERT_EQ(launches.size(), 1u);
  const auto& args = std::get<CollectiveArgs>(launches[0].args);
  for (uint32_t i = 0; i < kRootRanks; ++i) {
    EXPECT_EQ(args.work[i].first_channel, 0u);
    EXPECT_EQ(args.work[i].call, i);
  }
}

TEST(SideBySide, RanksThatGroupDifferentlyAreTold) {
  std::vector<std::unique_ptr<RankOperation>> parts;
  for (const char* protocol : {"LL", "Simple"}) {
    const ScopedEnv env("NCCL_PROTO", protocol);
    Ranks ranks(kRootRanks);
    for (int rank = 0; rank < kRootRanks; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      if (rank != 1) require_ok(ncclGroupStart(), "ncclGroupStart");
      for (int root = 0; root < kRootRanks; ++root) {
        parts.push_back(std::make_unique<RankOperation>(rooted(Call::kBroadcast, root, 1'000, 1),
                                                        rank, kRootRanks));
        // Refused once the fault of an earlier one is known.
        (void)parts.back()->call(ranks.comm(rank), ranks.stream(rank));
      }
      if (rank != 1) (void)ncclGroupEnd();
    }
    const auto [rank, code] = first_async(ranks);
    ASSERT_GE(rank, 0) << protocol << ": no rank gave up";
    EXPECT_TRUE(code == ncclInvalidUsage || code == ncclRemoteError) << code;
    expect_text(ncclGetLastError(ranks.comm(rank)), {"Broadcast of 1000", "the same calls"});
  }
}

}  // namespace
}  // namespace weft::test
