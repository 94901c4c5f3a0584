// Cost tables: what a file may say, what is refused and in which words, and that the choice follows
// the table.
#include "algorithms/cost_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../support/expect_error.h"
#include "algorithms/select.h"
#include "error.h"

namespace weft {
namespace {

const std::string kHead = "format=1\ndevice=Some GPU\nranks=4\n";

CostFile read(const std::string& lines) { return read_cost_file(kHead + lines, platform::kCosts); }

TEST(CostFile, SaysWhatItSays) {
  const CostFile file = read(
      "# by hand\r\n"
      "\n"
      "launch_us = 2.5\n"
      "block_us=0.125\n"
      "ll.hop_us=1.5\n"
      "ll.bytes_per_us=1:1000, 4:3000,8:4e3\n"
      "simple.bytes_per_us=1:70000\n"
      "zero_copy.from_bytes=65536");
  EXPECT_EQ(file.device, "Some GPU");
  EXPECT_EQ(file.ranks, 4);
  EXPECT_EQ(file.costs.launch_us, 2.5);
  EXPECT_EQ(file.costs.block_us, 0.125);
  EXPECT_EQ(file.costs.ll.hop_us, 1.5);
  EXPECT_EQ(file.costs.ll.bytes_per_us.at(8), 4000);
  EXPECT_FALSE(file.costs.simple.bytes_per_us.depends_on_blocks());
  EXPECT_EQ(file.costs.simple.bytes_per_us.at(3), 70000);
  // Left out: as built in.
  EXPECT_EQ(file.costs.ll128.hop_us, platform::kCosts.ll128.hop_us);
  EXPECT_EQ(file.costs.simple.hop_us, platform::kCosts.simple.hop_us);
}

// Where going without copies is not known to be right, no file makes it so.
TEST(CostFile, ZeroCopyStaysOffWhereItIs) {
  platform::CostTable built_in = platform::kCosts;
  built_in.zero_copy_bytes = 0;
  const std::string text = kHead + "zero_copy.from_bytes=4096\n";
  EXPECT_EQ(read_cost_file(text, built_in).costs.zero_copy_bytes, 0u);
  built_in.zero_copy_bytes = 1 << 20;
  EXPECT_EQ(read_cost_file(text, built_in).costs.zero_copy_bytes, 4096u);
}

void expect_table_refused(const std::string& text, const std::vector<std::string>& parts) {
  SCOPED_TRACE(text);
  try {
    read_cost_file(text, platform::kCosts);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclInvalidUsage);
    test::expect_text(error.text(), parts);
  }
}

TEST(CostFile, ErrorsNameLineAndKey) {
  expect_table_refused(kHead + "ll.hop_us", {"line 4", "ll.hop_us", "not KEY=VALUE"});
  expect_table_refused(kHead + "\nll.hop_us=", {"line 5", "ll.hop_us", "no value"});
  expect_table_refused(kHead + "ll.hop_us=1.5x", {"line 4", "ll.hop_us=1.5x", "not a number"});
  for (const char* bad : {"-1", "nan", "inf", "1e7", "0x1p3", "1,5"})
    expect_table_refused(kHead + "launch_us=" + bad, {"line 4", "launch_us", "not a number"});
  expect_table_refused(kHead + "ll256.hop_us=1", {"line 4", "ll256.hop_us", "no such key"});
  expect_table_refused(kHead + "ll.hops=1", {"line 4", "ll.hops", "no such key"});
  expect_table_refused(kHead + "ll.hop_us=1\nll.hop_us=1",
                       {"line 5", "ll.hop_us", "a second time"});
  expect_table_refused(kHead + "zero_copy.from_bytes=-1", {"line 4", "zero_copy.from_bytes"});
}

TEST(CostFile, BadCurves) {
  const std::string key = kHead + "simple.bytes_per_us=";
  expect_table_refused(key + "1000", {"line 4", "simple.bytes_per_us", "blocks:bytes"});
  expect_table_refused(key + ",", {"1 to 16 points"});
  expect_table_refused(key + "4:1,2:1", {"order of blocks"});
  expect_table_refused(key + "4:1,4:1", {"order of blocks"});
  for (const char* bad : {"0:1", "-1:1", "1025:1", ":1", "x:1"})
    expect_table_refused(key + bad, {"blocks are 1 to 1024"});
  for (const char* bad : {"1:0", "1:-1", "1:nan", "1:1e10", "1:", "1:2:3"})
    expect_table_refused(key + bad, {"bytes a microsecond"});
  std::string many;
  for (int i = 1; i <= platform::BlockCurve::kMostPoints + 1; ++i)
    many += std::to_string(i) + ":1,";
  expect_table_refused(key + many, {"1 to 16 points"});
}

TEST(CostFile, Head) {
  expect_table_refused("", {"format is missing"});
  expect_table_refused("format=2\n", {"line 1", "format=2", "format 1"});
  expect_table_refused("device=A\nformat=1\n", {"line 1", "device", "before format"});
  expect_table_refused("format=1\nranks=2\n", {"device is missing"});
  expect_table_refused("format=1\ndevice=A\n", {"ranks is missing"});
  expect_table_refused("format=1\ndevice=A\nranks=1\n", {"line 3", "ranks"});
  expect_table_refused(std::string(kMostCostFileBytes + 1, '#'), {"more than"});
}

TEST(BlockCurve, GoesThroughItsPoints) {
  constexpr platform::BlockCurve::Point kPoints[] = {{2, 200}, {4, 300}, {8, 100}};
  constexpr platform::BlockCurve kCurve(kPoints, 3);
  EXPECT_EQ(kCurve.at(1), 100);
  EXPECT_EQ(kCurve.at(2), 200);
  EXPECT_EQ(kCurve.at(3), 250);
  EXPECT_EQ(kCurve.at(4), 300);
  EXPECT_EQ(kCurve.at(8), 100);
  EXPECT_EQ(kCurve.at(100), 100);
}

Choice choose(const std::string& lines, size_t bytes, uint32_t most_blocks = 64) {
  platform::CostTable costs = read(lines).costs;
  costs.most_blocks = most_blocks;
  return Selector(Rules("", "^LL128"), 4, false, 0, costs).choose(Collective::kAllReduce, bytes);
}

const std::string kFastLines =
    "ll.hop_us=1\nll.bytes_per_us=1:1e6\nsimple.hop_us=100\nsimple.bytes_per_us=1:10\n";
const std::string kFastSimple =
    "ll.hop_us=100\nll.bytes_per_us=1:10\nsimple.hop_us=1\nsimple.bytes_per_us=1:1e6\n";

TEST(Selector, FollowsTheTable) {
  for (const size_t bytes : {size_t(8), size_t(1) << 24}) {
    EXPECT_EQ(choose(kFastLines, bytes).protocol, Protocol::kLl) << bytes;
    EXPECT_EQ(choose(kFastSimple, bytes).protocol, Protocol::kSimple) << bytes;
  }
  // Hops against bytes.
  const std::string wire = "ll.bytes_per_us=1:1000\nll.hop_us=";
  EXPECT_EQ(choose(wire + "100\nsimple.hop_us=1000\n", 4096).algorithm->label, "OneShot");
  EXPECT_EQ(choose(wire + "0.1\nsimple.hop_us=1000\n", 4096).algorithm->label, "TwoShot");
}

TEST(Selector, TakesBlocksByTheCurve) {
  const std::string lines = kFastLines + "block_us=0.5\n";
  EXPECT_EQ(choose(lines, 1 << 20).channels, 0u);  // one point says nothing of blocks
  const std::string curve =
      "ll.hop_us=1\nsimple.hop_us=1000\nblock_us=0.5\nll.bytes_per_us=1:1000,16:16000,64:20000\n";
  EXPECT_EQ(choose(curve, 8).channels, 1u);
  const uint32_t some = choose(curve, 16 << 10).channels;
  EXPECT_GT(some, 1u);
  EXPECT_LT(some, 64u);
  EXPECT_EQ(choose(curve, 16 << 20).channels, 64u);
  EXPECT_EQ(choose(curve, 16 << 20, 12).channels, 12u);  // no more than there are
  EXPECT_GT(choose(curve, 16 << 20, 12).us, choose(curve, 16 << 20).us);
}

}  // namespace
}  // namespace weft
