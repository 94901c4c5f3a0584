// weft-perf calibrate: what follows from given times.
#include <gtest/gtest.h>

#include "cost_fit.h"

namespace weft::perf {
namespace {

TEST(PerfCostFit, AHopIsTheSlopeOverHops) {
  EXPECT_DOUBLE_EQ(fit_hop_us(3, {{1, 4.5}, {1, 4.5}, {14, 24}}), 1.5);
  EXPECT_DOUBLE_EQ(fit_hop_us(3, {{2, 7}}), 2);
  EXPECT_LT(fit_hop_us(3, {{1, 2.5}}), 0);  // noise
}

BlockSamples at(int blocks, double small_us, double shorter_us, double longer_us) {
  return {blocks, small_us, {1000, shorter_us}, {9000, longer_us}};
}

TEST(PerfCostFit, BandwidthIsTheSlopeOverBytes) {
  EXPECT_DOUBLE_EQ(bytes_per_us(at(1, 0, 5, 9)), 2000);
  EXPECT_DOUBLE_EQ(bytes_per_us(at(1, 0, 5, 5)), 1800);  // noise: at least that
  EXPECT_DOUBLE_EQ(bytes_per_us(at(1, 0, 6, 4.5)), 2000);
}

TEST(PerfCostFit, ABlockIsTheSlopeOverBlocks) {
  EXPECT_DOUBLE_EQ(fit_block_us({at(1, 4, 0, 0), at(3, 4.5, 0, 0), at(5, 5, 0, 0)}), 0.25);
  EXPECT_DOUBLE_EQ(fit_block_us({at(1, 4, 0, 0), at(64, 3, 0, 0)}), 0);
  EXPECT_DOUBLE_EQ(fit_block_us({at(4, 4, 0, 0)}), 0);
  EXPECT_DOUBLE_EQ(fit_block_us({}), 0);
}

TEST(PerfCostFit, TheCrossingIsWhereAllThatFollowIsFaster) {
  EXPECT_EQ(crossing_bytes({{1, 9, 5}, {2, 5, 9}, {4, 9, 5}, {8, 9, 5}}), 4u);
  EXPECT_EQ(crossing_bytes({{1, 9, 5}, {2, 9, 5}}), 1u);
  EXPECT_EQ(crossing_bytes({{1, 9, 5}, {2, 5, 5}}), 0u);
  EXPECT_EQ(crossing_bytes({}), 0u);
}

TEST(PerfCostFit, TheTableHasItsPointsInOrder) {
  const CostSamples samples{
      3,
      {{"ll", {{1, 4.5}}, {at(1, 4, 5, 9), at(4, 4.75, 5, 7), at(2, 4.25, 5, 8)}}},
      {{64, 2, 1}}};
  EXPECT_EQ(cost_table_text(samples, "a test", "Some GPU", 2),
            "# a test\nformat=1\ndevice=Some GPU\nranks=2\nlaunch_us=3.0000\nblock_us=0.25000\n"
            "ll.hop_us=1.5000\nll.bytes_per_us=1:2000,2:2666.67,4:4000\nzero_copy.from_bytes=64\n");
}

TEST(PerfCostFit, ANoisyHopIsLeftOut) {
  const CostSamples samples{3, {{"ll", {{1, 2}}, {at(1, 4, 5, 9)}}}, {}};
  const std::string text = cost_table_text(samples, "a test", "Some GPU", 2);
  EXPECT_EQ(text.find("hop_us"), std::string::npos) << text;
  EXPECT_NE(text.find("ll.bytes_per_us=1:2000"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::perf
