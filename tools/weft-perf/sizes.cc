// Parsing and listing of sizes. See sizes.h.
#include "sizes.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdlib>

#include "failure.h"

namespace weft::perf {
namespace {

constexpr char kSuffixes[] = "KMGT";
constexpr uint64_t kFirstAfterZero = 8;  // bytes: one double, or two floats
constexpr double kLargest = 9.0e18;      // fits uint64_t and leaves room for one more step

// The power of 1024 that `suffix` stands for; throws for anything unknown.
int suffix_power(const std::string& suffix, const std::string& text) {
  if (suffix.empty() || suffix == "B" || suffix == "b") return 0;
  for (int power = 1; kSuffixes[power - 1] != '\0'; ++power) {
    if (std::toupper(static_cast<unsigned char>(suffix[0])) != kSuffixes[power - 1]) continue;
    const std::string rest = suffix.substr(1);
    if (rest.empty() || rest == "B" || rest == "b" || rest == "iB" || rest == "ib") return power;
  }
  fail_usage("'{}' is not a size: expected a number with an optional K, M, G or T", text);
}

}  // namespace

uint64_t parse_bytes(const std::string& text) {
  const bool starts_well = !text.empty() && std::isdigit(static_cast<unsigned char>(text[0]));
  char* end = nullptr;
  const double number = starts_well ? std::strtod(text.c_str(), &end) : 0;
  if (!starts_well || text.find_first_of("xXpP") != std::string::npos) {
    fail_usage("'{}' is not a size: expected a number with an optional K, M, G or T", text);
  }
  const double bytes = std::ldexp(number, 10 * suffix_power(end, text));
  if (bytes > kLargest) fail_usage("'{}' is too large a size", text);
  if (bytes != std::floor(bytes)) fail_usage("'{}' is not a whole number of bytes", text);
  return static_cast<uint64_t>(bytes);
}

std::string format_bytes(uint64_t bytes) {
  int power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && kSuffixes[power] != '\0') {
    bytes /= 1024;
    ++power;
  }
  return power == 0 ? fmt::format("{}", bytes) : fmt::format("{}{}", bytes, kSuffixes[power - 1]);
}

std::vector<uint64_t> sweep_sizes(const Sweep& sweep) {
  if (sweep.min_bytes > sweep.max_bytes) {
    fail_usage("the smallest size (-b {}) is above the largest (-e {})",
               format_bytes(sweep.min_bytes), format_bytes(sweep.max_bytes));
  }
  if (sweep.step_factor == 1) fail_usage("-f 1 never gets anywhere: use 2 or more");
  if (sweep.step_factor == 0 && sweep.step_bytes == 0 && sweep.min_bytes < sweep.max_bytes) {
    fail_usage("-i 0 never gets from {} to {}", sweep.min_bytes, sweep.max_bytes);
  }
  std::vector<uint64_t> sizes;
  uint64_t size = sweep.min_bytes;
  while (size <= sweep.max_bytes) {
    sizes.push_back(size);
    if (size == sweep.max_bytes) break;
    if (sweep.step_factor == 0) {
      size += sweep.step_bytes;
    } else {
      size = size == 0 ? kFirstAfterZero : size * sweep.step_factor;
    }
  }
  return sizes;
}

}  // namespace weft::perf
