// Order statistics. See statistics.h.
#include "statistics.h"

#include <algorithm>
#include <cmath>

namespace weft::perf {
namespace {

constexpr double kConfidence = 0.95;

// P(at most k of n fair coins show heads), each term from logarithms so that large n does not
// overflow.
double binomial_tail(int n, int k) {
  double sum = 0;
  for (int i = 0; i <= k; ++i) {
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) -
                    n * std::log(2.0));
  }
  return sum;
}

}  // namespace

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  if (samples.size() % 2 == 1) return samples[middle];
  return (samples[middle - 1] + samples[middle]) / 2;
}

double percentile(std::vector<double> samples, double fraction) {
  std::sort(samples.begin(), samples.end());
  const double rank = std::ceil(fraction * static_cast<double>(samples.size()));
  return samples[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

Interval median_interval(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const int n = static_cast<int>(samples.size());
  // Leaving out `trim` samples on either side misses the median with probability 2 * tail(trim).
  int trim = 0;
  while (2 * (trim + 1) < n && 1 - 2 * binomial_tail(n, trim + 1) >= kConfidence) ++trim;
  return {samples[static_cast<size_t>(trim)], samples[static_cast<size_t>(n - 1 - trim)],
          1 - 2 * binomial_tail(n, trim)};
}

Comparison compare(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(theirs[i] / ours[i]);
  const Interval interval = median_interval(ratios);
  const double ratio = median(ratios);
  const bool excludes_one = interval.low > 1 || interval.high < 1;
  return {median(ours), median(theirs), ratio, interval, ratio < kSlowerRatio && excludes_one};
}

}  // namespace weft::perf
