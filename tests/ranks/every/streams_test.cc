// Calls on streams of every kind, on memory of every kind; one communicator on several streams,
// which nobody orders but the library.
#include <numeric>

#include "../../unit/scoped_log.h"
#include "rank_graph.h"
#include "rank_operation.h"

namespace weft::test {
namespace {

// A stream is destroyed while its kernel waits for another rank; the next one has its address.
TEST(EveryStream, ANewStreamAtTheAddressOfAnOldOne) {
  const ScopedEnv limit("WEFT_TIMEOUT", "60");
  constexpr int kRanks = 2, kOperations = 8;
  const LocalRanks ranks(kRanks);
  std::vector<std::unique_ptr<RankOperation>> operations;
  int used_again = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    hipStream_t before = nullptr;
    for (uint64_t i = 0; i < kOperations; ++i) {
      operations.push_back(
          std::make_unique<RankOperation>(all_reduce(1'000 + i * 9'000, i), rank, kRanks));
      const Streams one(1);
      used_again += one[0] == before;
      before = one[0];
      operations.back()->issue(ranks.comm(rank), one[0]);
    }
  }
  EXPECT_GT(used_again, 0) << "the runtime gave every stream a new address";
  for (int rank = 0; rank < kRanks; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    require_hip(hipDeviceSynchronize(), "hipDeviceSynchronize");
  }
  for (const auto& each : operations) EXPECT_EQ(each->check(), "");
}

// One rank's integers: element i is 100 rank + i before an AllReduce of `ranks` ranks.
struct Integers {
  static std::vector<int> before(size_t count, int rank) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), 100 * rank);
    return values;
  }
  static std::vector<int> after(size_t count, int ranks) {
    std::vector<int> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = ranks * (50 * (ranks - 1) + int(i));
    return values;
  }
};

// Copies in, an AllReduce and copies out on four streams a rank, of low and of high priority; the
// host waits at the end only.
TEST(EveryStream, FourStreamsOfDifferentPriorities) {
  constexpr int kRanks = 3;
  constexpr size_t kStreams = 4, kRounds = 12, kCount = 30'000;
  const LocalRanks ranks(kRanks);
  on_threads(kRanks, [&](int rank) {
    int least = 0, greatest = 0;
    require_hip(hipDeviceGetStreamPriorityRange(&least, &greatest), "hipDeviceGetStreamPriority");
    const std::vector<int> in = Integers::before(kCount, rank);
    std::vector<hipStream_t> streams(kStreams);
    std::vector<std::unique_ptr<GuardedBuffer>> buffers;
    std::vector<std::vector<int>> out(kStreams * kRounds, std::vector<int>(kCount));
    for (size_t i = 0; i < kStreams; ++i) {
      require_hip(hipStreamCreateWithPriority(&streams[i], hipStreamNonBlocking,
                                              i % 2 == 0 ? greatest : least),
                  "hipStreamCreateWithPriority");
      buffers.push_back(std::make_unique<GuardedBuffer>(4 * kCount, 0));
    }
    for (size_t i = 0; i < out.size(); ++i) {
      void* data = buffers[i % kStreams]->data();
      const hipStream_t stream = streams[i % kStreams];
      require_hip(hipMemcpyAsync(data, in.data(), 4 * kCount, hipMemcpyHostToDevice, stream), "in");
      require_ok(ncclAllReduce(data, data, kCount, ncclInt32, ncclSum, ranks.comm(rank), stream),
                 "ncclAllReduce");
      require_hip(hipMemcpyAsync(out[i].data(), data, 4 * kCount, hipMemcpyDeviceToHost, stream),
                  "out");
    }
    for (hipStream_t stream : streams) {
      require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
      require_hip(hipStreamDestroy(stream), "hipStreamDestroy");
    }
    for (const auto& each : out) EXPECT_EQ(each, Integers::after(kCount, kRanks));
  });
}

// Memory that programs pass beside that of hipMalloc, another kind on every rank.
struct MemoryKind {
  const char* name;
  hipError_t (*allocate)(void** p, size_t bytes);
  hipError_t (*free)(void* p);
};
constexpr MemoryKind kMemoryKinds[] = {
    {"managed", [](void** p, size_t n) { return hipMallocManaged(p, n, hipMemAttachGlobal); },
     [](void* p) { return hipFree(p); }},
    {"host", [](void** p, size_t n) { return hipHostMalloc(p, n, hipHostMallocDefault); },
     [](void* p) { return hipHostFree(p); }},
    {"fine-grained",
     [](void** p, size_t n) { return hipExtMallocWithFlags(p, n, hipDeviceMallocFinegrained); },
     [](void* p) { return hipFree(p); }},
    {"device", [](void** p, size_t n) { return hipMalloc(p, n); },
     [](void* p) { return hipFree(p); }},
};

TEST(EveryStream, BuffersOfEveryKindOfMemory) {
  constexpr int kRanks = 4;
  for (const size_t count : {100, 200'001}) {
    const LocalRanks ranks(kRanks);
    on_threads(kRanks, [&](int rank) {
      for (size_t shift = 0; shift < std::size(kMemoryKinds); ++shift) {
        const MemoryKind& kind = kMemoryKinds[(size_t(rank) + shift) % std::size(kMemoryKinds)];
        const std::vector<int> in = Integers::before(count, rank);
        std::vector<int> out(count);
        void* data = nullptr;
        require_hip(kind.allocate(&data, 4 * count), kind.name);
        require_hip(hipMemcpy(data, in.data(), 4 * count, hipMemcpyDefault), "in");
        require_ok(ncclAllReduce(data, data, count, ncclInt32, ncclSum, ranks.comm(rank),
                                 ranks.stream(rank)),
                   "ncclAllReduce");
        require_hip(hipStreamSynchronize(ranks.stream(rank)), "hipStreamSynchronize");
        require_hip(hipMemcpy(out.data(), data, 4 * count, hipMemcpyDefault), "out");
        EXPECT_EQ(out, Integers::after(count, kRanks)) << kind.name;
        require_hip(kind.free(data), "free");
      }
    });
  }
}

// The first message of a communicator, beside a kernel that does not end before it; the other rank
// receives later. Nobody waits for the host of the other rank.
TEST(EveryStream, G10AFirstMessageBesideALongKernel) {
  for (const size_t bytes : {size_t(1) << 10, size_t(8) << 20}) {
    const LocalRanks ranks(2);
    const GuardedBuffer from(bytes, 0);
    const Streams busy(1);
    uint64_t* gate = nullptr;
    require_hip(hipHostMalloc(reinterpret_cast<void**>(&gate), 8, hipHostMallocDefault), "gate");
    *gate = 0;
    from.write(std::vector<char>(bytes, 7));
    require_hip(hipStreamWaitValue64(busy[0], gate, 1, hipStreamWaitValueGte), "a long kernel");
    require_ok(ncclSend(from.data(), bytes, ncclInt8, 1, ranks.comm(0), ranks.stream(0)), "send");
    {
      const LocalRanks::OnDevice scope(1);
      const GuardedBuffer to(bytes, 0);
      require_ok(ncclRecv(to.data(), bytes, ncclInt8, 0, ranks.comm(1), ranks.stream(1)), "recv");
      ranks.synchronize();
      EXPECT_EQ(to.compare({7}, 1), "");
    }
    EXPECT_EQ(hipStreamQuery(busy[0]), hipErrorNotReady);
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    busy.synchronize();
    require_hip(hipHostFree(gate), "hipHostFree");
  }
}

}  // namespace
}  // namespace weft::test
