// Sizes, sweeps and statistics of weft-perf.
#include <gtest/gtest.h>

#include "failure.h"
#include "sizes.h"
#include "statistics.h"

namespace weft::perf {
namespace {

TEST(PerfSizes, Suffixes) {
  EXPECT_EQ(parse_bytes("8"), 8u);
  EXPECT_EQ(parse_bytes("64K"), 65536u);
  EXPECT_EQ(parse_bytes("64k"), 65536u);
  EXPECT_EQ(parse_bytes("1.5M"), 1572864u);
  EXPECT_EQ(parse_bytes("2GiB"), uint64_t{2} << 30);
  EXPECT_EQ(parse_bytes("1TB"), uint64_t{1} << 40);
  EXPECT_EQ(parse_bytes("12B"), 12u);
}

TEST(PerfSizes, RefusesWhatIsNoSize) {
  for (const char* text : {"", "K", "-8", "8X", "8KK", "0x10", "1.3", "nan", "9e30"}) {
    EXPECT_THROW(parse_bytes(text), Failure) << text;
  }
}

TEST(PerfSizes, FormatIsParsedBack) {
  for (uint64_t bytes :
       {uint64_t{0}, uint64_t{8}, uint64_t{1024}, uint64_t{1536}, uint64_t{3} << 30}) {
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
  }
  EXPECT_EQ(format_bytes(1 << 20), "1M");
}

TEST(PerfSizes, Sweeps) {
  EXPECT_EQ(sweep_sizes({8, 64, 0, 2}), (std::vector<uint64_t>{8, 16, 32, 64}));
  EXPECT_EQ(sweep_sizes({8, 65, 0, 2}), (std::vector<uint64_t>{8, 16, 32, 64}));
  EXPECT_EQ(sweep_sizes({10, 40, 15, 0}), (std::vector<uint64_t>{10, 25, 40}));
  EXPECT_EQ(sweep_sizes({5, 5, 0, 0}), (std::vector<uint64_t>{5}));
  EXPECT_EQ(sweep_sizes({0, 16, 0, 2}), (std::vector<uint64_t>{0, 8, 16}));
  EXPECT_THROW(sweep_sizes({8, 4, 1, 0}), Failure);
  EXPECT_THROW(sweep_sizes({8, 16, 0, 0}), Failure);
  EXPECT_THROW(sweep_sizes({8, 16, 0, 1}), Failure);
}

TEST(PerfStatistics, MedianAndPercentile) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 0), 1);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 0.5), 3);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 0.99), 5);
}

// Tabled values: n = 6 keeps the extremes (96.9 %), n = 9 drops one on each side (96.1 %), n = 20
// drops five (95.9 %).
TEST(PerfStatistics, IntervalOfTheMedian) {
  const Interval six = median_interval({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  EXPECT_NEAR(six.coverage, 0.96875, 1e-9);
  const Interval nine = median_interval({9, 8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(nine.low, 2);
  EXPECT_EQ(nine.high, 8);
  EXPECT_NEAR(nine.coverage, 0.9609375, 1e-9);
  std::vector<double> twenty;
  for (int i = 1; i <= 20; ++i) twenty.push_back(i);
  EXPECT_EQ(median_interval(twenty).low, 6);
  EXPECT_EQ(median_interval(twenty).high, 15);
}

TEST(PerfStatistics, ComparisonNeedsBothTheRatioAndTheInterval) {
  const std::vector<double> base{10, 10, 10, 10, 10, 10};
  EXPECT_FALSE(compare(base, base).slower);
  const Comparison slower = compare({12, 12, 12, 12, 12, 12}, base);
  EXPECT_TRUE(slower.slower);
  EXPECT_NEAR(slower.ratio, 10.0 / 12, 1e-12);
  EXPECT_FALSE(compare({10.2, 10.2, 10.2, 10.2, 10.2, 10.2}, base).slower);  // 0.98
  EXPECT_FALSE(compare({12, 12, 12, 12, 12, 9}, base).slower);               // interval holds 1
  EXPECT_FALSE(compare({8, 8, 8, 8, 8, 8}, base).slower);
}

}  // namespace
}  // namespace weft::perf
