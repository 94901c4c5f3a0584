// Every pattern, proved by the simulator for 1 to 64 places: right results, each contribution once,
// no deadlock at any depth. And the simulator itself: it must see patterns that are wrong.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "algorithms/pattern.h"
#include "algorithms/simulate.h"

namespace weft {
namespace {

uint64_t seed() {
  static const uint64_t value = [] {
    const char* text = std::getenv("WEFT_TEST_SEED");
    const uint64_t s = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
    std::printf("seed %llu (WEFT_TEST_SEED repeats it)\n", static_cast<unsigned long long>(s));
    return s;
  }();
  return value;
}

uint64_t all_places(int n) { return n == 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1; }

Simulation all_reduce(PatternId id, int n) {
  Simulation s;
  s.places = n;
  s.hops = pattern_hops(id, n);
  s.step = [=](int place, int hop) { return pattern_step(id, place, n, hop); };
  s.expected = [=](int, int) { return all_places(n); };
  s.seed = seed();
  return s;
}

TEST(Ring, AllReduceIsRightForEveryCountDepthAndOrder) {
  for (int n = 1; n <= 64; ++n)
    for (int depth = 2; depth <= 8; ++depth) {
      Simulation s = all_reduce(PatternId::kRingAllReduce, n);
      s.fifo_slots = depth;
      s.slices_per_chunk = 1 + (n + depth) % (depth - 1);  // 1 to depth - 1
      s.loops = n < 16 ? 3 : 1;
      s.seed += uint64_t(n) * 64 + depth;
      const auto result = simulate(s);
      EXPECT_EQ(result.error, "") << n << " places, depth " << depth;
      EXPECT_EQ(result.messages, int64_t(2) * (n - 1) * n * s.slices_per_chunk * s.loops);
    }
}

TEST(Ring, LongestChainIsTwoRounds) {
  for (int n = 2; n <= 64; ++n) {
    Simulation s = all_reduce(PatternId::kRingAllReduce, n);
    s.fifo_slots = 2;
    EXPECT_EQ(simulate(s).longest_path, 2 * (n - 1)) << n;
  }
}

TEST(Ring, AFullRingOfSlotsDeadlocks) {
  // Why a chunk has fewer slices than a FIFO has slots, and a FIFO at least two slots: at hop 0
  // everybody sends and nobody receives, and at hop 1 a slice is taken from one FIFO while there is
  // room in the next (docs/decisions/0002).
  for (int slots = 1; slots <= 4; ++slots) {
    Simulation s = all_reduce(PatternId::kRingAllReduce, 4);
    s.fifo_slots = slots;
    s.slices_per_chunk = slots;
    EXPECT_NE(simulate(s).error.find("deadlock"), std::string::npos) << slots;
  }
}

// Each change makes the ring wrong in another way; the simulator must say so.
class BrokenRing : public ::testing::TestWithParam<int> {};

TEST_P(BrokenRing, IsSeen) {
  constexpr int n = 5;
  Simulation s = all_reduce(PatternId::kRingAllReduce, n);
  s.fifo_slots = 2;
  ASSERT_EQ(simulate(s).error, "");
  const auto right = s.step;
  s.step = [&, right](int place, int hop) {
    Step step = right(place, hop);
    switch (GetParam()) {
      case 0:
        if (hop == 2) step.read_input = false;
        break;  // a contribution is lost
      case 1:
        if (hop == n) step.read_input = true;
        break;  // one is taken twice
      case 2:
        if (hop == 3) step.chunk = (step.chunk + 1) % n;
        break;  // another chunk than was sent
      case 3:
        if (hop == 2 * n - 2) step.write_output = false;
        break;  // the last chunk is not kept
      case 4:
        if (hop == 1) step.finish = true;
        break;  // scaled too early
      case 5:
        if (hop == n - 1) step.finish = false;
        break;  // never scaled
      case 6:
        if (place == 2 && hop == 2) step.send = Peers::none();
        break;
      case 7:
        if (hop == 0) step.recv = Peers::one((place + n - 1) % n);
        break;
      default:
        break;
    }
    return step;
  };
  EXPECT_NE(simulate(s).error, "");
}
INSTANTIATE_TEST_SUITE_P(Changes, BrokenRing, ::testing::Range(0, 8));

}  // namespace
}  // namespace weft
