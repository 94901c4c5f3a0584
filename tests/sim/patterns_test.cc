// Every pattern, proved by the simulator for 1 to 64 places, with credits: right results, each
// contribution once, no deadlock at any depth that is deep enough, and how deep that is.
#include <gtest/gtest.h>

#include <random>

#include "algorithms/simulate.h"
#include "pattern_list.h"
#include "seed.h"

namespace weft {
namespace {

class EveryPattern : public ::testing::TestWithParam<PatternId> {};

// Chunks of 0 to `most` slices: equal ones where they are segments of a buffer, else at random.
std::function<int(int, int)> random_slices(PatternId id, int most, uint64_t seed) {
  const BufferShape shape = buffer_shape(pattern_collective(id), true);
  const bool segments = shape.input == Segments::kPerRank || shape.output == Segments::kPerRank;
  return [=](int loop, int chunk) {
    constexpr uint64_t kMix = 0x9e3779b97f4a7c15;  // any odd number
    const uint64_t mixed = (seed + uint64_t(loop) * 1000 + (segments ? 0 : uint64_t(chunk))) * kMix;
    return int((mixed >> 32) % uint64_t(most + 1));
  };
}

TEST_P(EveryPattern, IsRightForEveryCountAndRoot) {
  std::mt19937_64 random(test_seed());
  for (int n = 1; n <= 64; ++n)
    for (int root : roots(GetParam(), n))
      for (int channel = 0; channel < channel_kinds(GetParam()); ++channel) {
        Simulation s;
        s.places = n;
        s.programs = {program_of(GetParam(), n, root, channel)};
        s.slices_per_chunk = 1 + int(random() % 4);
        // What the planner keeps to, and sometimes more.
        s.fifo_slots = s.slices_per_chunk * flow_chunks(GetParam()) + int(random() % 3);
        s.loops = n <= 16 ? 3 : 2;
        s.seed = random();
        EXPECT_EQ(simulate(s).error, "") << n << " places, root " << root;
        s.slices = random_slices(GetParam(), s.slices_per_chunk, s.seed);
        EXPECT_EQ(simulate(s).error, "") << n << " places, root " << root << ", uneven chunks";
      }
}

// The least depth for chunks of `slices`, over 1 to 64 places, by what is counted above all of
// them: a flow that must take in whole chunks before its receiver turns to it needs a slot for each
// of their slices.
int least_slots(PatternId id, int n, int slices) {
  Simulation s;
  s.places = n;
  s.programs = {program_of(id, n)};
  s.loops = 2;
  s.slices_per_chunk = slices;
  for (s.fifo_slots = 1;; ++s.fifo_slots) {
    const std::string error = simulate(s).error;
    if (error.empty()) return s.fifo_slots;
    EXPECT_NE(error.find("deadlock"), std::string::npos) << error;
    if (error.find("deadlock") == std::string::npos) return s.fifo_slots;
  }
}

int expected_slots(PatternId id, int slices) {
  switch (id) {
    case PatternId::kRingBroadcast:
    case PatternId::kRingReduce:
    case PatternId::kDirectGather:
    case PatternId::kDirectScatter:
    case PatternId::kOneShotBroadcast:
    case PatternId::kOneShotReduce:
      return 1;  // who receives has nothing else to do first
    case PatternId::kTreeAllReduce:
      // All of a chunk goes up before the first slice is taken that comes down: the way down and
      // the way up must hold it between them.
      return (slices + 1) / 2;
    case PatternId::kRingAllReduce:
    case PatternId::kRingReduceScatter:
    case PatternId::kRingAllGather:
    case PatternId::kTwoShotAllReduce:
      return slices + 1;  // takes from a flow only while it fills the next, which is full too
    case PatternId::kPatAllGather:
    case PatternId::kPatReduceScatter:
      return PatOrder::kChunksInFlight * slices;
    default:
      return slices;  // everybody sends a chunk before anybody receives
  }
}

TEST_P(EveryPattern, NeedsThisManySlots) {
  for (int n : {4, 16, 17, 64})
    for (int slices = 1; slices <= 4; ++slices) {
      const int expected = expected_slots(GetParam(), slices);
      const int found = least_slots(GetParam(), n, slices);
      const bool few = n < 16 && flow_chunks(GetParam()) > 2;  // not as many chunks in flight
      if (!few) {
        EXPECT_EQ(found, expected) << n << " places, " << slices << " slices";
      }
      EXPECT_LE(found, slices * flow_chunks(GetParam()));
    }
}

TEST_P(EveryPattern, OrderOfTurnsDoesNotMatter) {
  for (int n : {3, 8}) {
    Simulation s;
    s.places = n;
    s.programs = {program_of(GetParam(), n, n - 1)};
    s.fifo_slots = 2 * flow_chunks(GetParam());
    s.slices_per_chunk = 2;
    s.loops = 2;
    const int64_t messages = simulate(s).messages;
    for (int i = 0; i < 20; ++i) {
      s.seed = test_seed() + uint64_t(i);
      const SimulationResult result = simulate(s);
      EXPECT_EQ(result.error, "");
      EXPECT_EQ(result.messages, messages);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryPattern, ::testing::ValuesIn(all_patterns()),
                         [](const auto& info) { return name_of(info.param); });

// Operations of a communicator follow one another on the same flows.
TEST(Patterns, FollowOneAnother) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 60; ++i) {
    Simulation s;
    s.places = 1 + int(random() % 20);
    for (int k = 0; k < 6; ++k)
      s.programs.push_back(program_of(PatternId(random() % kPatternCount), s.places,
                                      int(random() % uint64_t(s.places)), i % 2));
    s.slices_per_chunk = 1 + int(random() % 2);
    s.fifo_slots = PatOrder::kChunksInFlight * s.slices_per_chunk;
    s.loops = 1 + int(random() % 2);
    s.seed = random();
    EXPECT_EQ(simulate(s).error, "") << s.places << " places";
  }
}

TEST(Ring, AFullRingOfSlotsDeadlocks) {
  // Why a chunk has fewer slices than a FIFO has slots, and a FIFO at least two slots: at hop 0
  // everybody sends and nobody receives, and at hop 1 a slice is taken from one FIFO while there is
  // room in the next (docs/decisions/0002).
  for (int slots = 1; slots <= 4; ++slots) {
    Simulation s;
    s.places = 4;
    s.programs = {program_of(PatternId::kRingAllReduce, 4)};
    s.fifo_slots = slots;
    s.slices_per_chunk = slots;
    EXPECT_NE(simulate(s).error.find("deadlock: waits for room at"), std::string::npos) << slots;
  }
}

TEST(Tree, WhoHasChildrenInOneTreeIsALeafOfTheOther) {
  const auto children = [](int place, int n, int channel) {
    const BinaryTree tree{n};
    const int position = TreeAllReduce::position(place, n, channel);
    return (tree.left(position) >= 0) + (tree.right(position) >= 0);
  };
  for (int n = 2; n <= 64; ++n)
    for (int place = 0; place < n; ++place) {
      const bool in_both = children(place, n, 0) > 0 && children(place, n, 1) > 0;
      EXPECT_EQ(in_both, n % 2 == 1 && place == 0) << place << " of " << n;
    }
}

TEST(Tree, ParentsAndChildrenAgree) {
  for (int n = 1; n <= 300; ++n) {
    const BinaryTree tree{n};
    std::vector<int> seen(n);
    for (int at = 0; at < n; ++at)
      for (int child : {tree.left(at), tree.right(at)})
        if (child >= 0) {
          ASSERT_LT(child, n);
          EXPECT_EQ(tree.parent(child), at) << child << " of " << n;
          ++seen[child];
        }
    for (int at = 0; at < n; ++at) EXPECT_EQ(seen[at], at > 0) << at << " of " << n;
  }
}

TEST(Pat, TakesEveryPositionOnceAndAfterItsParent) {
  for (int n = 1; n <= 600; ++n) {
    std::vector<int> turn(n, -1);
    for (int i = 0; i < n; ++i) {
      const int at = PatOrder::position(i, n);
      ASSERT_TRUE(at >= 0 && at < n && turn[at] < 0) << i << " of " << n;
      turn[at] = i;
    }
    for (int at = 1; at < n; ++at) EXPECT_GT(turn[at], turn[BinaryTree{n}.parent(at)]);
  }
}

}  // namespace
}  // namespace weft
