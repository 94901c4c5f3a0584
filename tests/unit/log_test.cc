// Log lines: shapes, levels, files, whole lines from many threads and processes, texts of any
// length.
#include "log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <regex>
#include <thread>

#include "log_format.h"
#include "scoped_log.h"

namespace weft {
namespace {

const std::string kWho = R"([^:. ]+:\d+:\d+ \[-?\d+\] )";

void expect_matches(const std::string& line, const std::string& pattern) {
  EXPECT_TRUE(std::regex_match(line, std::regex(pattern))) << line << "\nis not\n" << pattern;
}

TEST(Log, ShapesAreRccls) {
  ScopedLog log("TRACE");
  log_info(Subsystem::kInit, "hello {}", 7);
  log_warn("careful {}", "now");
  log_error("all is lost");
  log_line(LogLevel::kTrace, Subsystem::kInit, {"a/b.cc", 12}, "deep");
  log_line(LogLevel::kTrace, Subsystem::kCall, {"a/b.cc", 12}, "ncclAllReduce");
  auto lines = log.lines();
  ASSERT_EQ(lines.size(), 6u) << log.text();
  expect_matches(lines[0], kWho + "NCCL INFO hello 7");
  EXPECT_EQ(lines[1], "");
  expect_matches(lines[2], R"(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )" + kWho +
                               R"(log_test\.cc:\d+ NCCL WARN careful now)");
  expect_matches(lines[3], kWho + R"(\[FATAL ERROR\]: all is lost)");
  expect_matches(lines[4], kWho + R"(\d+\.\d+ b\.cc:12 NCCL TRACE deep)");
  expect_matches(lines[5], R"([^:. ]+:\d+:\d+ NCCL CALL ncclAllReduce)");
}

TEST(Log, DefaultShowsErrorsOnly) {
  ScopedLog log("");
  log_warn("not shown, but kept");
  log_info(Subsystem::kInit, "not shown");
  log_error("shown");
  EXPECT_EQ(log.lines().size(), 1u) << log.text();
}

TEST(Log, NoneIsQuiet) {
  ScopedLog log("none");
  log_error("nobody sees this");
  EXPECT_EQ(log.text(), "");
  EXPECT_EQ(log_last_warning(), "nobody sees this");
}

TEST(Log, SubsystemsSelect) {
  {
    ScopedLog log("INFO", "NET,coll");
    EXPECT_TRUE(log_enabled(LogLevel::kInfo, Subsystem::kNet));
    EXPECT_TRUE(log_enabled(LogLevel::kInfo, Subsystem::kColl));
    EXPECT_FALSE(log_enabled(LogLevel::kInfo, Subsystem::kInit));
    EXPECT_TRUE(log_enabled(LogLevel::kWarn, Subsystem::kInit));
  }
  {
    ScopedLog log("INFO", "^NET");
    EXPECT_FALSE(log_enabled(LogLevel::kInfo, Subsystem::kNet));
    EXPECT_TRUE(log_enabled(LogLevel::kInfo, Subsystem::kVerbs));
  }
  ScopedLog log("INFO", "");
  EXPECT_TRUE(log_enabled(LogLevel::kInfo, Subsystem::kBootstrap));
  EXPECT_FALSE(log_enabled(LogLevel::kInfo, Subsystem::kColl));
}

TEST(Log, InfoIsNotWrittenBelowItsLevel) {
  ScopedLog log("WARN");
  EXPECT_FALSE(log_enabled(LogLevel::kInfo, Subsystem::kInit));
  log_info(Subsystem::kInit, "{}", std::string(1 << 20, 'x'));
  EXPECT_EQ(log.text(), "");
}

TEST(Log, TimestampsAsAsked) {
  ScopedEnv levels("NCCL_DEBUG_TIMESTAMP_LEVELS", "INFO"),
      format("NCCL_DEBUG_TIMESTAMP_FORMAT", "<%S.%3f>_");
  ScopedLog log("INFO");
  log_info(Subsystem::kInit, "stamped");
  log_warn("plain");
  auto lines = log.lines();
  ASSERT_EQ(lines.size(), 3u);
  expect_matches(lines[0], R"(<\d\d\.\d{3}> )" + kWho + "NCCL INFO stamped");
  expect_matches(lines[2], kWho + R"(log_test\.cc:\d+ NCCL WARN plain)");
}

TEST(Log, BannerFromLevelVersion) {
  {
    ScopedLog log("ERROR");
    log_version_banner();
    EXPECT_EQ(log.text(), "");
  }
  ScopedLog log("VERSION");
  log_version_banner();
  auto lines = log.lines();
  ASSERT_EQ(lines.size(), 5u) << log.text();
  expect_matches(lines[0], R"(RCCL version : 2\.28\.3-weft.+)");
  const char* names[] = {
      "HIP version  : ", "ROCm version : ", "Hostname     : ", "Librccl path : "};
  for (size_t i = 0; i < 4; i++) EXPECT_EQ(lines[i + 1].rfind(names[i], 0), 0u) << lines[i + 1];
}

// A28: no text is too long.
TEST(Log, LongTextIsWhole) {
  ScopedLog log("INFO");
  std::string text(1 << 20, 'y');
  log_info(Subsystem::kInit, "{}", text);
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(count_of(log.text(), text), 1u);
}

// A27: one file per process, whole lines, nothing on stdout.
TEST(Log, LinesOfManyThreadsAndProcessesAreWhole) {
  constexpr int kThreads = 8, kLines = 200, kProcesses = 2;
  TempFolder folder;
  ScopedEnv level("NCCL_DEBUG", "INFO"), file("NCCL_DEBUG_FILE", folder.file("all"));
  log_reset();
  auto write_lines = [&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++)
      threads.emplace_back([t] {
        for (int i = 0; i < kLines; i++)
          log_info(Subsystem::kInit, "<{}>", std::string(500 + t, static_cast<char>('a' + t)));
      });
    for (auto& thread : threads) thread.join();
  };
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; p++) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      write_lines();
      _exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::istringstream stream(read_text(folder.file("all")));
  int count = 0;
  for (std::string line; std::getline(stream, line); count++) {
    size_t open = line.find('<');
    ASSERT_NE(open, std::string::npos) << line;
    int t = line[open + 1] - 'a';
    EXPECT_EQ(line.substr(open), "<" + std::string(500 + t, static_cast<char>('a' + t)) + ">");
  }
  EXPECT_EQ(count, kThreads * kLines * kProcesses);
  unsetenv("NCCL_DEBUG_FILE");
  log_reset();
}

TEST(Log, FileNameTakesHostAndProcessAlsoAfterFork) {
  TempFolder folder;
  ScopedEnv level("NCCL_DEBUG", "INFO"), file("NCCL_DEBUG_FILE", folder.file("f.%h.%p"));
  log_reset();
  log_info(Subsystem::kInit, "parent");
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    log_info(Subsystem::kInit, "child");
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  std::string start = folder.file("f." + short_host_name() + ".");
  std::string own = read_text(start + std::to_string(getpid())),
              other = read_text(start + std::to_string(child));
  EXPECT_NE(own.find("parent"), std::string::npos);
  EXPECT_EQ(own.find("child"), std::string::npos);
  EXPECT_NE(other.find("child"), std::string::npos);
  EXPECT_EQ(other.find("parent"), std::string::npos);
  unsetenv("NCCL_DEBUG_FILE");
  log_reset();
}

TEST(Log, FileKeepsStdoutEmptyAtEveryLevel) {
  for (const char* level : {"VERSION", "WARN", "INFO"}) {
    TempFolder folder;
    int saved = dup(STDOUT_FILENO);
    int capture = open(folder.file("stdout").c_str(), O_CREAT | O_WRONLY, 0600);
    fflush(stdout);
    dup2(capture, STDOUT_FILENO);
    {
      ScopedLog log(level);
      log_version_banner();
      log_warn("w");
      log_info(Subsystem::kInit, "i");
      EXPECT_NE(log.text(), "");
    }
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(capture);
    EXPECT_EQ(read_text(folder.file("stdout")), "") << level;
  }
}

TEST(Log, ExpandsPaths) {
  EXPECT_EQ(expand_path("a%%b%q%"), "a%b%q%");
  EXPECT_EQ(expand_path("%p"), std::to_string(getpid()));
  EXPECT_EQ(expand_path("%h"), short_host_name());
}

TEST(Log, ResetMayRunWhileOthersLog) {
  ScopedLog log("INFO");
  std::thread writer([] {
    for (int i = 0; i < 500; i++) log_info(Subsystem::kInit, "line {}", i);
  });
  for (int i = 0; i < 50; i++) log_reset();
  writer.join();
  EXPECT_EQ(count_of(log.text(), "NCCL INFO line"), 500u);
}

}  // namespace
}  // namespace weft
