// Good cost tables with random damage, and random bytes, through their reader: a table or an error,
// never a crash, and what is accepted gives figures that a choice can be made by. WEFT_FUZZ_SEED
// repeats a run, WEFT_FUZZ_MS sets its length.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>

#include "algorithms/cost_table.h"
#include "error.h"

namespace weft {
namespace {

using Random = std::mt19937_64;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text ? strtoull(text, nullptr, 10) : otherwise;
}

constexpr char kGood[] =
    "# a table\nformat=1\ndevice=Some GPU\nranks=8\nlaunch_us=2.9\nblock_us=0.01\n"
    "ll.hop_us=1.25\nll.bytes_per_us=1:1500,2:3000,4:6e3,64:100000\nsimple.hop_us=8\n"
    "simple.bytes_per_us=1:5000,8:40000\nzero_copy.from_bytes=1048576\n";
constexpr std::string_view kPieces[] = {
    "\n",           "=", ":", ",", ".", "#", "-", "1e308", "nan", "ll.", "bytes_per_us",
    "4294967296:1", "\0"};

std::string damaged(Random& random) {
  std::string text = kGood;
  for (size_t i = random() % 4; i > 0; --i) {
    const size_t at = random() % (text.size() + 1);
    switch (random() % 4) {
      case 0:
        if (at < text.size()) text[at] = char(random());
        break;
      case 1:
        text.resize(at);
        break;
      case 2:
        text.erase(at, random() % 20);
        break;
      default:
        text.insert(at, kPieces[random() % std::size(kPieces)]);
    }
  }
  return text;
}

void expect_usable(const platform::CostTable& costs) {
  for (const platform::WireCost* wire : {&costs.ll, &costs.ll128, &costs.simple, &costs.zero_copy})
    for (const double bytes : {0.0, 1.0, 1e12}) {
      const auto estimate = costs.estimate(*wire, 3, bytes);
      EXPECT_TRUE(std::isfinite(estimate.us) && estimate.us >= 0) << estimate.us;
      EXPECT_LE(estimate.blocks, costs.most_blocks);
    }
}

TEST(CostFileFuzz, ATableOrAnError) {
  const uint64_t seed = setting("WEFT_FUZZ_SEED", std::random_device{}());
  printf("WEFT_FUZZ_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(setting("WEFT_FUZZ_MS", 1000));
  size_t tried = 0, accepted = 0;
  for (; std::chrono::steady_clock::now() < until && !HasFailure(); ++tried) {
    const std::string text = damaged(random);
    try {
      expect_usable(read_cost_file(text, platform::kCosts).costs);
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ncclInvalidUsage);
    }
  }
  printf("%zu inputs, %zu accepted\n", tried, accepted);
  EXPECT_GT(accepted, 0u);
  EXPECT_LT(accepted, tried);
}

}  // namespace
}  // namespace weft
