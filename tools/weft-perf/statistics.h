// Medians, percentiles and the interval of a median. Pure functions on samples.
#pragma once

#include <vector>

namespace weft::perf {

// Of at least one sample; the mean of the middle two when their number is even.
double median(std::vector<double> samples);

// fraction in [0, 1]; nearest rank: the smallest sample that at least that fraction does not
// exceed.
double percentile(std::vector<double> samples, double fraction);

// The fewest samples whose range covers the median with at least 95 %.
constexpr int kFewestForInterval = 6;

// A distribution-free interval of the median from order statistics: the k-th smallest to the k-th
// largest sample with the largest k for which the binomial tail leaves at least 95 % coverage.
// `coverage` is what it really covers.
struct Interval {
  double low, high, coverage;
};
Interval median_interval(std::vector<double> samples);

// Two libraries timed in turns: pair i is ours[i] then theirs[i]. Pairing cancels drift of clocks
// and neighbours.
struct Comparison {
  double ours, theirs;  // medians
  double ratio;         // median of theirs[i] / ours[i]: above 1 ours is faster
  Interval interval;    // of that ratio
  bool slower;          // ratio below kSlowerRatio and the interval excludes 1
};
constexpr double kSlowerRatio = 0.97;
Comparison compare(const std::vector<double>& ours, const std::vector<double>& theirs);

}  // namespace weft::perf
