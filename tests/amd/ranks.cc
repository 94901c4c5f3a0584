#include "ranks.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace amd_test {
namespace {

// What run_processes tells a child, in its environment.
constexpr char kRank[] = "AMD_TEST_RANK", kId[] = "AMD_TEST_ID";

std::string to_hex(const ncclUniqueId& id) {
  std::string text;
  for (const char byte : id.internal) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", unsigned(uint8_t(byte)));
    text += two;
  }
  return text;
}
ncclUniqueId from_hex(const std::string& text) {
  ncclUniqueId id{};
  for (size_t i = 0; i < sizeof id.internal && 2 * i + 1 < text.size(); ++i)
    id.internal[i] = char(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}

}  // namespace

void give_up(int rank, const std::string& what) {
  std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
  std::fflush(stderr);
  _exit(1);
}

void require(const Job& job, hipError_t code, const std::string& what) {
  if (code != hipSuccess) give_up(job.rank, what + ": " + hipGetErrorString(code));
}
void require(const Job& job, ncclResult_t code, const std::string& what) {
  if (code != ncclSuccess)
    give_up(job.rank, what + ": " + ncclGetErrorString(code) + ": " + ncclGetLastError(nullptr));
}

int run_threads(const Job& job, void (*run_rank)(const Job&)) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < job.ranks; ++rank)
    threads.emplace_back([=] { run_rank({job.id, job.ranks, rank, job.devices}); });
  for (std::thread& thread : threads) thread.join();
  return 0;
}

int run_processes(const Job& job, char** arguments) {
  setenv(kId, to_hex(job.id).c_str(), 1);
  std::vector<pid_t> children;
  for (int rank = 0; rank < job.ranks; ++rank) {
    setenv(kRank, std::to_string(rank).c_str(), 1);
    pid_t child = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0)
      give_up(rank, "cannot start a process");
    children.push_back(child);
  }
  int failures = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failures += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  return failures == 0 ? 0 : 1;
}

bool is_rank() { return std::getenv(kRank) != nullptr; }

void join_as_rank(Job& job) {
  job.rank = std::atoi(std::getenv(kRank));
  job.id = from_hex(std::getenv(kId));
}

}  // namespace amd_test
