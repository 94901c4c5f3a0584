// AllReduce among ranks of one process: every type, operation, size and alignment; the settings
// that change how the work is cut. Tests named Ci... run in the longer set.
#include "../support/local_ranks.h"
#include "../unit/scoped_log.h"
#include "all_reduce_rank.h"

namespace weft::test {
namespace {

// One AllReduce by all ranks of `ranks`, called from this thread.
void run(const LocalRanks& ranks, const Case& what) {
  std::vector<std::unique_ptr<RankBuffers>> buffers;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const LocalRanks::OnDevice scope(rank);
    buffers.push_back(std::make_unique<RankBuffers>(what, rank, ranks.size()));
  }
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < ranks.size(); ++rank)
    require_ok(buffers[size_t(rank)]->all_reduce(ranks.comm(rank), ranks.stream(rank)),
               "ncclAllReduce");
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  ranks.synchronize();
  const std::vector<char> expected = buffers[0]->expected();
  for (const auto& each : buffers) EXPECT_EQ(each->check(expected), "");
}

constexpr size_t kSomeCounts[] = {0, 1, 3, 1021, 40'001};

void run_some(const LocalRanks& ranks) {
  uint64_t seed = 100;
  for (const size_t count : kSomeCounts)
    for (const bool in_place : {false, true})
      run(ranks, {ncclFloat32, ncclSum, count, in_place, seed % 4, ++seed});
}

void run_every_type_and_op(const LocalRanks& ranks, size_t bytes, uint64_t seed) {
  for (int type = 0; type < ncclNumTypes; ++type)
    for (int op = 0; op < ncclNumOps; ++op) {
      const Kind& kind = kind_of(ncclDataType_t(type), device_is_fnuz());
      run(ranks, {ncclDataType_t(type), ncclRedOp_t(op), bytes / kind.bytes + seed % 5,
                  (type + op) % 2 == 0, seed % 3, seed});
      ++seed;
    }
}

TEST(AllReduce, RanksOneToNineByOneCall) {
  for (int size = 1; size <= 9; ++size) {
    SCOPED_TRACE(size);
    run_some(LocalRanks(size));
  }
}

TEST(AllReduce, RanksOneToNineOnThreads) {
  for (int size = 1; size <= 9; ++size) {
    SCOPED_TRACE(size);
    const LocalRanks ranks(size, LocalRanks::kThreads);
    const Case what{ncclFloat32, ncclSum, 5003, size % 2 == 0, 1, uint64_t(size)};
    on_threads(size, [&](int rank) {
      const RankBuffers buffers(what, rank, size);
      for (int round = 0; round < 3; ++round) {
        buffers.refill();
        require_ok(buffers.all_reduce(ranks.comm(rank), ranks.stream(rank)), "ncclAllReduce");
        require_hip(hipStreamSynchronize(ranks.stream(rank)), "hipStreamSynchronize");
        EXPECT_EQ(buffers.check(), "");
      }
    });
  }
}

TEST(AllReduce, EveryTypeAndOp) {
  for (const int size : {1, 2, 3, 8}) {
    SCOPED_TRACE(size);
    run_every_type_and_op(LocalRanks(size), 4000, uint64_t(1000 * size));
  }
}

TEST(AllReduce, CiEveryTypeAndOpForAllRankCounts) {
  for (int size = 1; size <= 9; ++size) {
    SCOPED_TRACE(size);
    run_every_type_and_op(LocalRanks(size), 70'000, uint64_t(500 * size));
  }
}

TEST(AllReduce, CiEveryTypeAndOpUpToOneMegabyte) {
  for (const int size : {2, 5}) {
    SCOPED_TRACE(size);
    run_every_type_and_op(LocalRanks(size), 1 << 20, uint64_t(77 * size));
  }
}

// Every element count around a pack, and every offset that the type allows.
TEST(AllReduce, TailsAndOffsets) {
  const LocalRanks ranks(3);
  for (const ncclDataType_t type : {ncclInt8, ncclFloat16, ncclFloat32, ncclFloat64})
    for (size_t count = 1; count <= 35; ++count) {
      const size_t per_pack = 16 / kind_of(type, false).bytes;
      run(ranks, {type, ncclSum, count, count % 2 == 0, count % per_pack, count});
    }
}

TEST(AllReduce, SumOfFloatsUpTo16Megabytes) {
  const LocalRanks ranks(4);
  for (const size_t bytes : {1 << 20, 16 << 20})
    run(ranks, {ncclFloat32, ncclSum, bytes / 4 + 1, false, 0, 9});
}

TEST(AllReduce, CiSumOfFloatsUpTo256Megabytes) {
  const LocalRanks two(2);
  for (const size_t bytes : {64 << 20, 256 << 20})
    run(two, {ncclFloat32, ncclSum, bytes / 4, true, 0, 10});
  run(LocalRanks(4), {ncclFloat32, ncclSum, (size_t(64) << 20) / 4 + 3, false, 1, 11});
}

// Sums whose rounding depends on the order: a ring adds in the order of the ring, from some rank
// on, and all ranks hold the same bits.
TEST(AllReduce, RoundingIsThatOfTheRingAndEqualOnAllRanks) {
  constexpr int kRanks = 5;
  constexpr size_t kCount = 20'011;
  const LocalRanks ranks(kRanks);
  std::vector<std::vector<float>> in(kRanks, std::vector<float>(kCount)), out = in;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  for (int rank = 0; rank < kRanks; ++rank) {
    for (size_t i = 0; i < kCount; ++i)
      in[size_t(rank)][i] = float(mix(uint64_t(rank) * kCount + i) >> 40) / float(1 + i % 1000);
    const LocalRanks::OnDevice scope(rank);
    buffers.push_back(std::make_unique<GuardedBuffer>(kCount * 4, 0));
    require_hip(hipMemcpy(buffers.back()->data(), in[size_t(rank)].data(), kCount * 4,
                          hipMemcpyHostToDevice),
                "hipMemcpy");
  }
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < kRanks; ++rank) {
    void* data = buffers[size_t(rank)]->data();
    require_ok(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, ranks.comm(rank),
                             ranks.stream(rank)),
               "ncclAllReduce");
  }
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  ranks.synchronize();
  for (int rank = 0; rank < kRanks; ++rank) {
    require_hip(hipMemcpy(out[size_t(rank)].data(), buffers[size_t(rank)]->data(), kCount * 4,
                          hipMemcpyDeviceToHost),
                "hipMemcpy");
    ASSERT_EQ(std::memcmp(out[size_t(rank)].data(), out[0].data(), kCount * 4), 0) << rank;
  }
  for (size_t i = 0; i < kCount; ++i) {
    bool found = false;
    for (int first = 0; first < kRanks && !found; ++first) {
      float sum = in[size_t(first)][i];
      for (int k = 1; k < kRanks; ++k) sum += in[size_t((first + k) % kRanks)][i];
      found = sum == out[0][i];
    }
    ASSERT_TRUE(found) << "element " << i;
  }
}

TEST(AllReduce, RandomGridOfEveryOperation) {
  for (const char* seed : {"1", "77", "4242"}) {
    std::cout << "WEFT_RANDOM_GRID=" << seed << "\n";
    const ScopedEnv grid("WEFT_RANDOM_GRID", seed);
    const LocalRanks ranks(4);
    for (uint64_t round = 0; round < 12; ++round)
      run(ranks,
          {ncclFloat32, ncclSum, size_t(mix(round) % 300'000), round % 2 == 0, round % 4, round});
  }
}

// Counters start just below 2^32 and pass it: 100 slices are less than what is sent here.
TEST(AllReduce, CountersPassTheirWrap) {
  const ScopedEnv base("WEFT_EPOCH_BASE", "4294967196");
  const LocalRanks ranks(3);
  for (uint64_t round = 0; round < 150; ++round)
    run(ranks, {ncclInt32, ncclSum, 1 + size_t(mix(round) % 5000), round % 2 == 0, 0, round});
  run(ranks, {ncclInt32, ncclSum, 2'000'003, false, 0, 5});
}

TEST(AllReduce, AnyNumberOfChannels) {
  for (const char* channels : {"1", "2", "7", "64"}) {
    SCOPED_TRACE(channels);
    const ScopedEnv least("NCCL_MIN_NCHANNELS", channels);
    const ScopedEnv most("NCCL_MAX_NCHANNELS", channels);
    const LocalRanks ranks(3);
    run_some(ranks);
    run(ranks, {ncclBfloat16, ncclSum, 700'001, false, 0, 3});
  }
}

TEST(AllReduce, SmallBuffersInManyTurns) {
  const ScopedEnv size("NCCL_BUFFSIZE", "64K");
  const LocalRanks ranks(4);
  run_some(ranks);
  run(ranks, {ncclFloat32, ncclSum, 1'000'003, true, 1, 8});
}

}  // namespace
}  // namespace weft::test
