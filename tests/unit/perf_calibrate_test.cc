// weft-perf calibrate as a user runs it on simulated devices: the library reads what it writes, and
// goes by it. What follows from given times is in perf_cost_fit_test.cc.
#include <gtest/gtest.h>
#include <hip/hip_runtime.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "algorithms/cost_table.h"
#include "error.h"
#include "scoped_log.h"

namespace weft {
namespace {

struct Outcome {
  int status;
  std::string output;  // stdout and stderr
};

// `variables` go before the program's name: "A=1 B=2". -T bounds every run.
Outcome run(const std::string& arguments, const std::string& variables = "") {
  const std::string command = variables + " " + WEFT_PERF_PROGRAM + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome{-1, ""};
  char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    outcome.output.append(buffer, got);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string device_name() {
  hipDeviceProp_t properties{};
  EXPECT_EQ(hipGetDeviceProperties(&properties, 0), hipSuccess);
  return properties.name;
}

const std::string kTiny = "calibrate -g 2 --max-bytes 64K --max-blocks 2 --seconds 0 ";

TEST(PerfCalibrate, TheLibraryGoesByWhatItWrites) {
  const TempFolder folder;
  const std::string path = folder.file("costs");
  const Outcome written = run(kTiny + "-T 60 --lib " RCCL_LIBRARY " -o " + path);
  ASSERT_EQ(written.status, 0) << written.output;
  const std::string text = read_text(path);
  const CostFile file = read_cost_file(text, platform::kCosts);
  EXPECT_EQ(file.device, device_name());
  EXPECT_EQ(file.ranks, 2);
  EXPECT_GT(file.costs.launch_us, 0);
  // A hop may be lost in the noise of a busy machine.
  for (const char* key :
       {"ll.bytes_per_us=1:", "ll128.bytes_per_us=1:", "simple.bytes_per_us=1:",
        "zero_copy.bytes_per_us=1:", "zero_copy.from_bytes", "launch_us", "block_us"})
    EXPECT_EQ(count_of(text, key), 1u) << key << "\n" << text;
  for (const platform::WireCost* wire :
       {&file.costs.ll, &file.costs.ll128, &file.costs.simple, &file.costs.zero_copy}) {
    EXPECT_TRUE(wire->bytes_per_us.depends_on_blocks()) << text;
    EXPECT_GE(wire->hop_us, 0) << text;
  }
  const Outcome used = run("all_reduce -g 2 -b 8 -e 1M -f 64 -n 2 -T 60 --lib " RCCL_LIBRARY,
                           "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING WEFT_COST_FILE=" + path);
  EXPECT_EQ(used.status, 0) << used.output;
  EXPECT_EQ(count_of(used.output, "costs: WEFT_COST_FILE of rank 0"), 2u) << used.output;
}

TEST(PerfCalibrate, AHangEndsWithItsNameAndStatus3) {
  const Outcome o = run(kTiny + "-T 1 --lib " FAKE_CCL, "FAKE_CCL_FAULT=hang");
  EXPECT_EQ(o.status, 3) << o.output;
  EXPECT_NE(o.output.find("ll with 1 blocks, all_reduce of 0"), std::string::npos) << o.output;
}

TEST(PerfCalibrate, WhatCannotBeMeasuredIsAnError) {
  EXPECT_EQ(run("calibrate -g 1").status, 2);
  EXPECT_EQ(run("calibrate -g 999 --lib " FAKE_CCL).status, 2);
  EXPECT_EQ(run("calibrate --max-bytes 1").status, 2);
  EXPECT_EQ(run(kTiny + "-T 30 -o /nowhere/costs --lib " FAKE_CCL).status, 1);
}

}  // namespace
}  // namespace weft
