// Counters of flags over many operations on one communicator: LL flags hold 16 bits of them, lines
// that short slices left behind are swept every 2048 slices (src/device/ll.h), and 32-bit counters
// wrap. Also lines that arrive torn or out of order, in a process of its own.
#include <hip/hip_host.h>

#include <atomic>
#include <iostream>
#include <random>

#include "../../support/child_processes.h"
#include "../../support/local_ranks.h"
#include "../../support/reduction_model.h"
#include "../../unit/scoped_log.h"
#include "counters_process.h"

namespace weft::test {
namespace {

uint64_t seed_of_run() {
  const char* text = getenv("WEFT_TEST_SEED");
  const uint64_t seed = text ? std::stoull(text) : std::random_device{}();
  std::cout << "WEFT_TEST_SEED=" << seed << std::endl;
  return seed;
}

// An AllReduce that is checked quickly: element i of rank r is base + r + i, in 32-bit integers.
// Buffers live as long as the run, so that thousands of operations are cheap.
class Sums {
 public:
  static constexpr size_t kMost = 3'000;

  explicit Sums(int ranks) : ranks_(ranks), memory_(kMost * 4, 0), host_(kMost) {}

  void prepare(int rank, size_t count, uint32_t base) {
    for (size_t i = 0; i < count; ++i) host_[i] = base + uint32_t(rank) + uint32_t(i);
    copy(memory_.data(), host_.data(), count, hipMemcpyHostToDevice);
  }
  void* data() const { return memory_.data(); }
  // Elements that are not as f(i) says; in all, the first one.
  template <class F>
  std::string compare(size_t count, F f) {
    copy(host_.data(), memory_.data(), count, hipMemcpyDeviceToHost);
    for (size_t i = 0; i < count; ++i)
      if (host_[i] != f(uint32_t(i)))
        return "element " + std::to_string(i) + " of " + std::to_string(count) + " is " +
               std::to_string(host_[i]) + ", not " + std::to_string(f(uint32_t(i)));
    return "";
  }
  uint32_t sum(uint32_t base, uint32_t i) const {
    const auto n = uint32_t(ranks_);
    return n * (base + i) + n * (n - 1) / 2;
  }

 private:
  static void copy(void* to, const void* from, size_t count, hipMemcpyKind kind) {
    if (count > 0) require_hip(hipMemcpy(to, from, 4 * count, kind), "hipMemcpy");
  }
  const int ranks_;
  GuardedBuffer memory_;
  std::vector<uint32_t> host_;
};

// Mostly a few lines, now and then a full slot, so that old flags stay behind everywhere.
size_t count_of(uint64_t random) {
  if (random % 50 == 0) return random / 50 % Sums::kMost;
  return random / 50 % 40;
}

enum class Pattern { kExchange, kStream };

// One rank's operation number k; what every rank holds then.
std::string run_one(Sums& sums, Pattern pattern, ncclComm_t comm, hipStream_t stream, int rank,
                    uint64_t seed, uint64_t k) {
  const uint64_t random = mix(seed + k);
  const size_t count = count_of(random);
  const auto base = uint32_t(random >> 32);
  const int root = int(k % 3);
  sums.prepare(rank, count, base);
  void* data = sums.data();
  if (pattern == Pattern::kExchange)
    require_ok(ncclAllReduce(data, data, count, ncclUint32, ncclSum, comm, stream),
               "ncclAllReduce");
  else
    require_ok(ncclBcast(data, count, ncclUint32, root, comm, stream), "ncclBcast");
  require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
  return sums.compare(count, [&](uint32_t i) {
    return pattern == Pattern::kExchange ? sums.sum(base, i) : base + uint32_t(root) + i;
  });
}

void run_many(uint64_t operations, const std::vector<Pattern>& patterns, uint64_t seed,
              const char* wire = "LL") {
  constexpr int kRanks = 3;
  const ScopedEnv protocol("NCCL_PROTO", wire), algorithm("NCCL_ALGO", "Direct"),
      limit("WEFT_TIMEOUT", "60");
  const LocalRanks ranks(kRanks);
  std::atomic<bool> failed = false;
  on_threads(kRanks, [&](int rank) {
    Sums sums(kRanks);
    for (uint64_t k = 0; k < operations && !failed; ++k) {
      const std::string wrong = run_one(sums, patterns[k % patterns.size()], ranks.comm(rank),
                                        ranks.stream(rank), rank, seed, k);
      ncclResult_t state = ncclSuccess;
      require_ok(ncclCommGetAsyncError(ranks.comm(rank), &state), "the state");
      if (!wrong.empty() || state != ncclSuccess) {
        failed = true;
        ADD_FAILURE() << "operation " << k << " of seed " << seed << ", rank " << rank << ": "
                      << wrong << " " << ncclGetLastError(ranks.comm(rank));
      }
    }
  });
}

TEST(Counters, ManySmallExchanges) { run_many(5'300, {Pattern::kExchange}, seed_of_run()); }
TEST(Counters, ManySmallStreams) { run_many(5'300, {Pattern::kStream}, seed_of_run()); }
TEST(Counters, ManyOfBoth) {
  run_many(3'000, {Pattern::kExchange, Pattern::kStream, Pattern::kStream}, seed_of_run());
}
// Past 2^16 slices, so that each flag has come round.
TEST(Counters, CiMoreThanAFlagCounts) {
  const uint64_t seed = seed_of_run();
  const ScopedEnv base("WEFT_EPOCH_BASE", "4294950000");
  run_many(40'000, {Pattern::kExchange, Pattern::kStream}, seed);
}
TEST(Counters, SoakMoreThanAFlagCounts) {
  alarm(0);  // as long as it takes
  const uint64_t seed = seed_of_run();
  run_many(150'000, {Pattern::kExchange}, seed);
  run_many(150'000, {Pattern::kStream}, seed);
}

TEST(Counters, PassTheirWrap) {
  const uint64_t seed = seed_of_run();
  for (const char* base : {"4294967290", "65530", "2044"})
    for (const char* protocol : {"LL", "LL128", "Simple"}) {
      SCOPED_TRACE(std::string(base) + " " + protocol);
      const ScopedEnv first("WEFT_EPOCH_BASE", base);
      run_many(60, {Pattern::kExchange, Pattern::kStream}, seed, protocol);
    }
}

// Long slices, 2^16 short ones that leave the lines behind the first alone, long ones again: their
// flags are those of the first ones, and so would their data be had no sweep taken them away. Torn
// lines hold the sender back, so that a receiver would find the old lines first.
std::string come_round(const LocalRanks& ranks, int rank, Pattern pattern) {
  constexpr uint64_t kRound = 1 << 16, kLong = 2;
  constexpr size_t kCount = 700;
  Sums sums(ranks.size()), one(ranks.size());
  const auto call = [&](const Sums& at, size_t count) {
    void* data = at.data();
    require_ok(pattern == Pattern::kExchange
                   ? ncclAllReduce(data, data, count, ncclUint32, ncclSum, ranks.comm(rank),
                                   ranks.stream(rank))
                   : ncclBcast(data, count, ncclUint32, 0, ranks.comm(rank), ranks.stream(rank)),
               "the call");
  };
  std::string wrong;
  for (uint64_t k = 0; k < kRound + kLong; ++k) {
    const bool is_long = k % kRound < kLong;
    const auto base = uint32_t(1'000'000 * (k + 1));
    if (is_long) sums.prepare(rank, kCount, base);
    if (k == kRound) hipHostSetFault(hipHostFaultTornLines, 1);
    call(is_long ? sums : one, is_long ? kCount : 1);
    if (is_long || k % 64 == 0)
      require_hip(hipStreamSynchronize(ranks.stream(rank)), "hipStreamSynchronize");
    if (is_long && wrong.empty())
      wrong = sums.compare(kCount, [&](uint32_t i) {
        return pattern == Pattern::kExchange ? sums.sum(base, i) : base + i;
      });
  }
  return wrong;
}
void all_come_round() {
  const ScopedEnv protocol("NCCL_PROTO", "LL"), algorithm("NCCL_ALGO", "Direct"),
      limit("WEFT_TIMEOUT", "60");
  for (const Pattern pattern : {Pattern::kStream, Pattern::kExchange}) {
    hipHostSetFault(hipHostFaultTornLines, 0);
    const LocalRanks ranks(3);
    on_threads(3, [&](int rank) { EXPECT_EQ(come_round(ranks, rank, pattern), "") << rank; });
  }
}

// Halves of a line become visible one by one, and other blocks run between them. A worker that fell
// asleep there would make every line last.
void run_with_lines(const char* fault, const char* what = "some") {
  const ScopedEnv lines("WEFT_HOST_FAULTS", fault), awake("WEFT_HOST_SPIN", "1000000000");
  ChildProcesses children;
  children.start({"counters", what});
  for (const ChildResult& child : children.collect(std::chrono::seconds(200))) {
    EXPECT_TRUE(child.ok()) << child.output;
    EXPECT_NE(child.output.find("PASSED"), std::string::npos) << child.output;
  }
}
TEST(Counters, TornLines) { run_with_lines("torn_lines"); }
TEST(Counters, ReorderedLines) { run_with_lines("reordered_lines"); }

TEST(Counters, CiFlagsThatComeRound) { run_with_lines("", "round"); }

}  // namespace

int run_counters(const std::vector<std::string>& arguments) {
  static const bool come_round = arguments.at(0) == "round";
  class Body : public testing::Test {
    void TestBody() override {
      if (come_round) return all_come_round();
      run_many(600, {Pattern::kExchange, Pattern::kStream}, seed_of_run());
    }
  };
  testing::InitGoogleTest();
  testing::RegisterTest("InProcess", "Counters", nullptr, nullptr, __FILE__, __LINE__,
                        []() -> testing::Test* { return new Body; });
  testing::GTEST_FLAG(filter) = "InProcess.*";
  return RUN_ALL_TESTS();
}

}  // namespace weft::test
