// The cost of a pattern, found by walking its steps, against the formulas in the patterns'
// comments.
#include "algorithms/pattern_cost.h"

#include <gtest/gtest.h>

#include <bit>

#include "algorithms/simulate.h"
#include "pattern_list.h"

namespace weft {
namespace {

int log2_up(int n) { return int(std::bit_width(unsigned(n - 1))); }

struct Formula {
  double latency, sent, received, link;
};

Formula formula(PatternId id, int n) {
  const double others = n - 1;
  switch (id) {
    case PatternId::kRingAllReduce:
      return {2 * others, 2 * others, 2 * others, 2 * others};
    case PatternId::kRingReduceScatter:
    case PatternId::kRingAllGather:
      return {others, others, others, others};
    case PatternId::kRingBroadcast:
    case PatternId::kRingReduce:
      return {others, 1, 1, 1};
    case PatternId::kOneShotAllReduce:
    case PatternId::kDirectReduceScatter:
    case PatternId::kDirectAllGather:
    case PatternId::kDirectAllToAll:
      return {1, others, others, 1};
    case PatternId::kTwoShotAllReduce:
      return {2, 2 * others, 2 * others, 2};
    case PatternId::kDirectBroadcast:  // with two places there is nobody to forward to
      return {n == 2 ? 1.0 : 2.0, 2 * others, double(n == 2 ? 2 : n), 2};
    case PatternId::kShardedReduce:
      return {2, double(n), 2 * others, 2};
    case PatternId::kDirectGather:
    case PatternId::kOneShotReduce:
      return {1, 1, others, 1};
    case PatternId::kOneShotBroadcast:
    case PatternId::kDirectScatter:
      return {1, others, 1, 1};
    default:
      return {};
  }
}

class Cost : public ::testing::TestWithParam<PatternId> {};

TEST_P(Cost, OfOnePlaceIsNothing) {
  const PatternCost cost = pattern_cost(GetParam(), 1);
  EXPECT_EQ(cost.latency, 0);
  EXPECT_EQ(cost.messages, 0);
}

TEST_P(Cost, IsTheFormulaOfTheComment) {
  if (formula(GetParam(), 2).latency == 0) return;  // trees and PAT have tests of their own below
  for (int n : {2, 3, 4, 7, 8, 16, 33, 64, 100}) {
    const PatternCost cost = pattern_cost(GetParam(), n);
    const Formula expected = formula(GetParam(), n);
    EXPECT_EQ(cost.latency, expected.latency) << n;
    EXPECT_EQ(cost.sent, expected.sent) << n;
    EXPECT_EQ(cost.received, expected.received) << n;
    EXPECT_EQ(cost.link, expected.link) << n;
  }
}

TEST_P(Cost, CountsTheMessagesOfTheSimulator) {
  for (int n : {2, 3, 5, 8, 17, 64}) {
    double messages = 0;
    for (int channel : {0, 1}) {
      Simulation s;
      s.places = n;
      s.programs = {program_of(GetParam(), n, 0, channel)};
      s.fifo_slots = flow_chunks(GetParam());
      const SimulationResult result = simulate(s);
      messages += double(result.messages) / 2;
      EXPECT_LE(result.longest_path, pattern_cost(GetParam(), n).latency);
    }
    EXPECT_EQ(pattern_cost(GetParam(), n).messages, messages) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Cost, ::testing::ValuesIn(all_patterns()),
                         [](const auto& info) { return name_of(info.param); });

TEST(Cost, OfTheDoubleTree) {
  for (int n = 2; n <= 200; ++n) {
    const PatternCost cost = pattern_cost(PatternId::kTreeAllReduce, n);
    EXPECT_EQ(cost.latency, 2 * log2_up(n)) << n;
    EXPECT_EQ(cost.messages, 2 * (n - 1)) << n;
    // Twice the buffer: over two channels three chunks as a place with children, one as a leaf.
    EXPECT_LE(cost.sent, 2) << n;
    EXPECT_LE(cost.received, 2) << n;
    if (n >= 4) {
      EXPECT_EQ(cost.sent, 2) << n;
    }
    EXPECT_LE(cost.link, 1) << n;
  }
}

TEST(Cost, OfPat) {
  for (PatternId id : {PatternId::kPatAllGather, PatternId::kPatReduceScatter})
    for (int n = 2; n <= 200; n += n < 40 ? 1 : 13) {
      const PatternCost cost = pattern_cost(id, n);
      EXPECT_EQ(cost.sent, n - 1) << n;
      EXPECT_EQ(cost.received, n - 1) << n;
      EXPECT_GE(cost.latency, log2_up(n)) << n;
      EXPECT_LE(cost.latency, n / PatOrder::kChunksInFlight + log2_up(n)) << n;
      if (n <= PatOrder::kSubtree + 1 && std::has_single_bit(unsigned(n))) {
        EXPECT_EQ(cost.latency, log2_up(n)) << n;
      }
    }
}

}  // namespace
}  // namespace weft
