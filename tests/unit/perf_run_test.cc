// weft-perf as a user runs it, against a small collective library of the tests (fake_ccl.cc):
// tables, checks, side by side, processes, launchers, failures and their exit status.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

struct Outcome {
  int status;
  std::string output;  // stdout and stderr
  bool says(const std::string& text) const { return output.find(text) != std::string::npos; }
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

const std::string kFake = "--lib " FAKE_CCL;
const std::string kSmall = " -b 8 -e 4K -f 8 -n 3 -T 30 ";

std::string temporary_file(const std::string& name) {
  return testing::TempDir() + "weft_perf_" + name;
}

TEST(PerfRun, OneThreadSeveralGpus) {
  const Outcome o = run("all_reduce " + kFake + kSmall + "-g 4");
  EXPECT_EQ(o.status, 0) << o.output;
  EXPECT_TRUE(o.says("#  Rank  3 ")) << o.output;
  EXPECT_TRUE(o.says("# Out of bounds values : 0 OK")) << o.output;
  EXPECT_TRUE(o.says("# Avg bus bandwidth")) << o.output;
}

TEST(PerfRun, ThreadsAndGraphs) {
  const Outcome threads = run("all_reduce " + kFake + kSmall + "-t 2 -g 2 -d int32 -p 1");
  EXPECT_EQ(threads.status, 0) << threads.output;
  const Outcome graph = run("all_reduce " + kFake + kSmall + "-g 2 -G 3 --latency");
  EXPECT_EQ(graph.status, 0) << graph.output;
  EXPECT_TRUE(graph.says("graph: 3")) << graph.output;
  EXPECT_TRUE(graph.says("p99")) << graph.output;
}

TEST(PerfRun, EveryCollectiveTypeAndRoot) {
  for (const char* name : {"all_gather", "broadcast", "alltoall", "gather"}) {
    const Outcome o =
        run(std::string(name) + " " + kFake + " -b 0 -e 1200 -i 600 -n 2 -T 30 -g 3 -d all -r all");
    EXPECT_EQ(o.status, 0) << o.output;
    EXPECT_TRUE(o.says("bfloat16")) << o.output;
  }
  for (const char* name : {"reduce", "reduce_scatter"}) {
    const Outcome o =
        run(std::string(name) + " " + kFake + " -b 0 -e 1200 -i 600 -n 2 -T 30 -g 3 -r all");
    EXPECT_EQ(o.status, 0) << o.output;
  }
  const Outcome wrong =
      run("all_gather " + kFake + " -b 1K -e 1K -n 2 -T 30 -g 2", "FAKE_CCL_FAULT=wrong");
  EXPECT_EQ(wrong.status, 1) << wrong.output;
}

TEST(PerfRun, SizesWithTailsAndZero) {
  const Outcome o = run("all_reduce " + kFake + " -b 0 -e 100 -i 25 -n 2 -T 30 -g 3 -u 1 -m 2");
  EXPECT_EQ(o.status, 0) << o.output;
}

TEST(PerfRun, WrongDataIsCountedShownAndFails) {
  const Outcome o =
      run("all_reduce " + kFake + " -b 64 -e 64 -n 2 -T 30 -g 2", "FAKE_CCL_FAULT=wrong");
  EXPECT_EQ(o.status, 1) << o.output;
  EXPECT_TRUE(o.says("rank 0: element 1: expected ")) << o.output;
  EXPECT_TRUE(o.says("# Out of bounds values : 2 FAILED")) << o.output;  // one a placement
  EXPECT_EQ(run("all_reduce " + kFake + " -b 64 -e 64 -n 2 -T 30 -g 2 -c 0", "FAKE_CCL_FAULT=wrong")
                .status,
            0);
}

// The first call is right; every later one of a size answers with what the one before had asked
// for.
TEST(PerfRun, TheResultOfTheCallBeforeIsWrong) {
  const std::string one_size = "all_reduce " + kFake + " -b 4 -e 4 -n 1 -w 0 -O 1 -T 30 -g 2 ";
  const std::string fault = "FAKE_CCL_FAULT=stale";
  EXPECT_EQ(run(one_size + "-c 1", fault).status, 0);
  for (const std::string how : {"", "-G 1 ", "-d int32 "}) {
    const Outcome o = run(one_size + how + "-c 4", fault);
    EXPECT_EQ(o.status, 1) << o.output;
    EXPECT_TRUE(o.says("# Out of bounds values : 6 FAILED")) << o.output;  // 3 calls, 2 ranks
  }
}

TEST(PerfRun, WritingBehindTheOutputIsSeen) {
  const Outcome o =
      run("all_reduce " + kFake + " -b 64 -e 64 -n 2 -T 30 -g 2 -O 1", "FAKE_CCL_FAULT=overrun");
  EXPECT_EQ(o.status, 1) << o.output;
  EXPECT_TRUE(o.says("behind the output")) << o.output;
}

TEST(PerfRun, AHangEndsWithItsNameAndStatus3) {
  const Outcome o =
      run("all_reduce " + kFake + " -b 64 -e 64 -n 2 -T 1 -g 2", "FAKE_CCL_FAULT=hang");
  EXPECT_EQ(o.status, 3) << o.output;
  EXPECT_TRUE(o.says(
      "timeout: waited 1 s for process 0: ours: checked call of out-of-place sum all_reduce"))
      << o.output;
  EXPECT_TRUE(o.says("communicators aborted")) << o.output;
}

TEST(PerfRun, AThreadThatMeetsTheAbortLeavesTheStatusAt3) {
  const Outcome o =
      run("all_reduce " + kFake + " -b 64 -e 64 -n 2 -T 1 -g 2", "FAKE_CCL_FAULT=stuck");
  EXPECT_EQ(o.status, 3) << o.output;
  EXPECT_FALSE(o.says("not a communicator")) << o.output;
}

TEST(PerfRun, WhatALibraryLacksIsReportedInItsWords) {
  const Outcome o = run("scatter " + kFake + kSmall + "-g 2");
  EXPECT_EQ(o.status, 1) << o.output;
  EXPECT_TRUE(o.says("invalid usage (5): not available in this version")) << o.output;
  const Outcome absent = run("sendrecv " + kFake + kSmall + "-g 2");
  EXPECT_EQ(absent.status, 1) << absent.output;
  EXPECT_TRUE(absent.says("has no ncclSend")) << absent.output;
}

TEST(PerfRun, UsageErrors) {
  EXPECT_EQ(run("all_reduce -b 8X").status, 2);
  const Outcome devices = run("all_reduce " + kFake + kSmall + "-g 3", "WEFT_HOST_DEVICES=2");
  EXPECT_EQ(devices.status, 2) << devices.output;
  EXPECT_TRUE(devices.says("needs device 2, but this host shows 2")) << devices.output;
  const std::string no_sharing = "WEFT_HOST_DEVICES=2 WEFT_ALLOW_SHARED_DEVICE=0";
  EXPECT_EQ(run("all_reduce " + kFake + kSmall + "-g 3", no_sharing).status, 2);
  const Outcome library = run("all_reduce --lib /nonexistent.so -g 2");
  EXPECT_EQ(library.status, 1) << library.output;
  EXPECT_TRUE(library.says("/nonexistent.so")) << library.output;
  EXPECT_EQ(run("--help").status, 0);
}

TEST(PerfRun, RanksShareDevicesInTurn) {
  const std::string two = "WEFT_HOST_DEVICES=2 WEFT_ALLOW_SHARED_DEVICE=1";
  for (const std::string how : {"-g 6", "-t 2 -g 3", "--procs 3 -g 2", "--procs 6"}) {
    const Outcome o = run("all_reduce " + kFake + kSmall + how, two);
    EXPECT_EQ(o.status, 0) << o.output;
    for (int rank = 0; rank < 6; ++rank) {
      const size_t line = o.output.find("#  Rank  " + std::to_string(rank) + " ");
      const std::string device = "device  " + std::to_string(rank % 2) + " ";
      ASSERT_NE(line, std::string::npos) << o.output;
      EXPECT_NE(o.output.substr(line, o.output.find('\n', line) - line).find(device),
                std::string::npos)
          << how << ", rank " << rank << "\n"
          << o.output;
    }
  }
}

TEST(PerfRun, SideBySide) {
  const std::string json = temporary_file("vs.json");
  const Outcome o = run("all_reduce --lib " FAKE_CCL_SLOW " --vs " FAKE_CCL
                        " -b 64 -e 64 -n 2 --blocks 7 -O 1 -T 30 -g 2 --json " +
                        json);
  EXPECT_EQ(o.status, 0) << o.output;
  std::ifstream stream(json);
  const auto record = nlohmann::json::parse(stream);
  const auto& row = record["rows"][0]["out_of_place"];
  EXPECT_EQ(row["ours"]["blocks_us"].size(), 7u);
  EXPECT_EQ(row["theirs"]["blocks_us"].size(), 7u);
  EXPECT_GT(row["ours"]["time_us"].get<double>(), 300);  // the slow library's delay
  // On a busy machine the interval may be too wide for a verdict; table and record must agree on
  // it.
  const bool slower = row["ratio"]["theirs_over_ours"].get<double>() < 0.97 &&
                      row["ratio"]["high"].get<double>() < 1;
  EXPECT_EQ(row["ratio"]["slower"].get<bool>(), slower);
  EXPECT_TRUE(o.says(slower ? ": 1 of 1 rows" : ": 0 of 1 rows")) << o.output;
  EXPECT_EQ(record["libraries"][1]["path"].get<std::string>(), FAKE_CCL);
  EXPECT_EQ(record["libraries"][0]["version"].get<std::string>(), "2.28.3");
  EXPECT_EQ(record["ranks"].get<int>(), 2);
  EXPECT_EQ(record["environment"]["WEFT_HOST_DEVICES"].get<std::string>(), "4");
  std::remove(json.c_str());
}

TEST(PerfRun, ProcessesOfOurOwn) {
  const Outcome o = run("all_reduce " + kFake + kSmall + "--procs 3");
  EXPECT_EQ(o.status, 0) << o.output;
  EXPECT_TRUE(o.says("#  Rank  2 ")) << o.output;
  EXPECT_TRUE(o.says("# Out of bounds values : 0 OK")) << o.output;
}

TEST(PerfRun, OneFailedProcessEndsAll) {
  const Outcome o = run("all_reduce " + kFake + kSmall + "--procs 3", "FAKE_CCL_FAULT=fail");
  EXPECT_EQ(o.status, 1) << o.output;
  EXPECT_TRUE(o.says("told to fail")) << o.output;
  EXPECT_TRUE(o.says("ending the others")) << o.output;
  EXPECT_EQ(
      run("all_reduce " + kFake + " -b 64 -e 64 -T 1 --procs 2", "FAKE_CCL_FAULT=hang").status, 3);
}

// The children hold the pipe's other end, so its end of file says that all are gone.
TEST(PerfRun, ChildrenDieWithTheirParent) {
  int output[2];
  ASSERT_EQ(pipe(output), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    dup2(output[1], STDOUT_FILENO);
    close(output[0]);
    close(output[1]);
    setenv("FAKE_CCL_FAULT", "hang", 1);
    execl(WEFT_PERF_PROGRAM, WEFT_PERF_PROGRAM, "all_reduce", "--lib", FAKE_CCL, "-b", "64", "-e",
          "64", "--procs", "2", "-T", "60", nullptr);
    _exit(127);
  }
  close(output[1]);
  char buffer[4096];
  std::string head;
  while (head.find("#wrong") == std::string::npos) {  // both ranks are past their start then
    const ssize_t got = read(output[0], buffer, sizeof(buffer));
    ASSERT_GT(got, 0) << head;
    head.append(buffer, static_cast<size_t>(got));
  }
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  pollfd end{output[0], POLLIN, 0};
  ssize_t got = 1;
  while (got > 0) {
    ASSERT_EQ(poll(&end, 1, 10000), 1) << "the children still run 10 s later";
    got = read(output[0], buffer, sizeof(buffer));
  }
  EXPECT_EQ(got, 0);
  close(output[0]);
}

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  close(fd);
  return ntohs(address.sin_port);
}

TEST(PerfRun, TorchrunsVariables) {
  const std::string job =
      "WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(free_port() - 1);
  const std::string arguments = "all_reduce " + kFake + kSmall;
  // The second process runs in the background of the first one's shell.
  const Outcome o = run(arguments, job + " RANK=1 LOCAL_RANK=1 " + WEFT_PERF_PROGRAM + " " +
                                       arguments + " & " + job + " RANK=0 LOCAL_RANK=0");
  EXPECT_EQ(o.status, 0) << o.output;
  EXPECT_TRUE(o.says("#  Rank  1 ")) << o.output;
}

TEST(PerfRun, MpirunThroughPmix) {
  if (std::system("command -v mpirun >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no mpirun on this machine";
  const std::string command = "all_reduce " + kFake + kSmall;
  const Outcome o = run(command, "mpirun --allow-run-as-root --oversubscribe -n 2");
  EXPECT_EQ(o.status, 0) << o.output;
  EXPECT_TRUE(o.says("#  Rank  1 ")) << o.output;
  EXPECT_TRUE(o.says("# Out of bounds values : 0 OK")) << o.output;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("WEFT_HOST_DEVICES", "4", 1);
  // What a launcher around the test left behind would be taken for the job's.
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) unsetenv(name);
  return RUN_ALL_TESTS();
}
