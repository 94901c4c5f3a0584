// weft-perf's table: lines that scripts written for nccl-tests read.
#include <gtest/gtest.h>

#include <sstream>

#include "results.h"
#include "table.h"

namespace weft::perf {
namespace {

Placement placement(double seconds, double busbw, std::optional<uint64_t> wrong) {
  Placement p;
  p.ours.blocks = {seconds};
  p.ours.seconds = seconds;
  p.ours.algbw = busbw / 2;
  p.ours.busbw = busbw;
  p.ours.wrong = wrong;
  return p;
}

Row example_row() {
  Row row;
  row.bytes = 1048576;
  row.count = 262144;
  row.type = "float";
  row.op = "sum";
  row.out_of_place = placement(12.346e-6, 150e9, 0);
  row.in_place = placement(123.456e-6, 50e9, std::nullopt);
  return row;
}

std::vector<std::string> words(const std::string& line) {
  std::stringstream stream(line);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

TEST(PerfTable, ARowHasTheColumnsOfNcclTests) {
  EXPECT_EQ(words(table_row(example_row(), false)),
            (std::vector<std::string>{"1048576", "262144", "float", "sum", "-1", "12.35", "75.00",
                                      "150.00", "0", "123.5", "25.00", "50.00", "N/A"}));
}

TEST(PerfTable, HeadAndFoot) {
  Options options;
  Results results;
  results.libraries = {{"ours", "/lib/x.so", "2.28.3"}};
  results.devices = {{0, 42, 0, "host", "0000:01:00.0", "MI300X", "gfx942"}};
  results.rows = {example_row()};
  const std::string head = table_head(options, results);
  EXPECT_NE(
      head.find(
          "# nThread 1 nGpus 1 minBytes 33554432 maxBytes 33554432 step: 1048576(bytes) warmup "
          "iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0\n"),
      std::string::npos);
  EXPECT_NE(
      head.find("#  Rank  0 Group  0 Pid     42 on       host device  0 [0000:01:00.0] MI300X"),
      std::string::npos);
  const Summary good = summarise(results, 0);
  EXPECT_DOUBLE_EQ(good.bus_bandwidth, 100e9);
  const std::string foot = table_foot(options, results, good);
  EXPECT_NE(foot.find("# Out of bounds values : 0 OK\n"), std::string::npos);
  EXPECT_NE(foot.find("# Avg bus bandwidth    : 100"), std::string::npos);
}

TEST(PerfTable, WrongDataAndSmallBandwidthFail) {
  Results results;
  results.rows = {example_row()};
  EXPECT_TRUE(summarise(results, 110e9).ok());  // within nccl-tests' tolerance of 0.9
  EXPECT_FALSE(summarise(results, 120e9).ok());
  results.rows[0].in_place->ours.wrong = 3;
  const Summary bad = summarise(results, 0);
  EXPECT_FALSE(bad.ok());
  EXPECT_NE(table_foot({}, results, bad).find("# Out of bounds values : 3 FAILED"),
            std::string::npos);
}

TEST(PerfTable, SideBySideMarksSlowerRows) {
  Row row = example_row();
  row.in_place.reset();
  row.out_of_place->theirs = row.out_of_place->ours;
  row.out_of_place->comparison = compare({2, 2, 2, 2, 2, 2}, {1, 1, 1, 1, 1, 1});
  const std::string line = table_row(row, true);
  EXPECT_NE(line.find("0.500 [0.500, 0.500]"), std::string::npos);
  EXPECT_NE(line.find("SLOWER"), std::string::npos);
  Results results;
  results.rows = {row};
  EXPECT_EQ(summarise(results, 0).slower, 1);
}

TEST(PerfResults, DeviceLinesSurviveTheExchange) {
  const std::vector<DeviceLine> lines{{3, 77, 1, "h", "0000:0c:00.0", "AMD Instinct MI300X", ""}};
  const auto back = parse_device_lines(format_device_lines(lines));
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].rank, 3);
  EXPECT_EQ(back[0].name, "AMD Instinct MI300X");
  EXPECT_EQ(back[0].arch, "");
}

}  // namespace
}  // namespace weft::perf
