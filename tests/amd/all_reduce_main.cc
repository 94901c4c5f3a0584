// AllReduce of the amd build through the public API, on any machine with a ROCm runtime: all
// visible devices, ranks as threads of this process or each as a process. Small sizes and a hard
// time limit, so that it also suits an emulator; no clocks, no VMM. Exit code 77: no device here.
//
// amd_all_reduce threads|processes [ranks] [seconds]
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kSkip = 77;
constexpr int kMaxRanks = 8;
constexpr unsigned kLimitSeconds = 60;
constexpr size_t kCounts[] = {1, 3, 1000, 4099, 40000};
constexpr int kRepeats = 2;

struct Job {
  ncclUniqueId id;
  int ranks, rank, devices;
};

[[noreturn]] void give_up(int rank, const std::string& what) {
  std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
  std::fflush(stderr);
  _exit(1);
}

void require(const Job& job, hipError_t code, const char* what) {
  if (code != hipSuccess) give_up(job.rank, std::string(what) + ": " + hipGetErrorString(code));
}
void require(const Job& job, ncclResult_t code, const char* what) {
  if (code != ncclSuccess) give_up(job.rank, std::string(what) + ": " + ncclGetLastError(nullptr));
}

// Sums of these are exact in float.
float contribution(int rank, size_t index) { return float(rank + 1) + float(index % 1021); }

void reduce_once(const Job& job, ncclComm_t comm, hipStream_t stream, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = contribution(job.rank, i);
  const size_t bytes = count * sizeof(float);
  float *input = nullptr, *output = nullptr;
  require(job, hipMalloc(reinterpret_cast<void**>(&input), bytes), "hipMalloc");
  require(job, hipMalloc(reinterpret_cast<void**>(&output), bytes), "hipMalloc");
  require(job, hipMemcpy(input, values.data(), bytes, hipMemcpyHostToDevice), "copy in");
  require(job, ncclAllReduce(input, output, count, ncclFloat, ncclSum, comm, stream),
          "ncclAllReduce");
  require(job, hipStreamSynchronize(stream), "hipStreamSynchronize");
  require(job, hipMemcpy(values.data(), output, bytes, hipMemcpyDeviceToHost), "copy out");
  for (size_t i = 0; i < count; ++i) {
    float wanted = 0;
    for (int rank = 0; rank < job.ranks; ++rank) wanted += contribution(rank, i);
    if (values[i] != wanted)
      give_up(job.rank, "count " + std::to_string(count) + ", element " + std::to_string(i) +
                            ": got " + std::to_string(values[i]) + ", want " +
                            std::to_string(wanted));
  }
  require(job, hipFree(input), "hipFree");
  require(job, hipFree(output), "hipFree");
}

void run_rank(const Job& job) {
  require(job, hipSetDevice(job.rank % job.devices), "hipSetDevice");
  (void)hipSetDeviceFlags(hipDeviceScheduleBlockingSync);  // a spinning host starves an emulator
  hipStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
  require(job, ncclCommInitRank(&comm, job.ranks, job.id, job.rank), "ncclCommInitRank");
  require(job, hipStreamCreate(&stream), "hipStreamCreate");
  for (int repeat = 0; repeat < kRepeats; ++repeat)
    for (const size_t count : kCounts) reduce_once(job, comm, stream, count);
  require(job, hipStreamDestroy(stream), "hipStreamDestroy");
  require(job, ncclCommDestroy(comm), "ncclCommDestroy");
}

int run_threads(const Job& job) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < job.ranks; ++rank)
    threads.emplace_back([&job, rank] { run_rank({job.id, job.ranks, rank, job.devices}); });
  for (std::thread& thread : threads) thread.join();
  return 0;
}

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

// Each rank is this program again, so that none inherits a runtime.
int run_processes(const Job& job, const char* program, const std::string& seconds) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < job.ranks; ++rank) {
    std::string words[] = {
        program, "rank", std::to_string(job.ranks), seconds, std::to_string(rank), to_hex(job.id)};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                         words[4].data(), words[5].data(), nullptr};
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

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "threads";
  const std::string seconds = argc > 3 ? argv[3] : std::to_string(kLimitSeconds);
  alarm(unsigned(std::stoul(seconds)));  // its default action ends the process

  Job job{};
  if (hipGetDeviceCount(&job.devices) != hipSuccess || job.devices == 0) {
    std::puts("skipped: no device here");
    return kSkip;
  }
  job.ranks = argc > 2 ? std::stoi(argv[2]) : job.devices < kMaxRanks ? job.devices : kMaxRanks;
  if (mode == "rank") {
    job.rank = std::stoi(argv[4]);
    job.id = from_hex(argv[5]);
    run_rank(job);
    return 0;
  }
  if (job.ranks > job.devices) setenv("WEFT_ALLOW_SHARED_DEVICE", "1", 0);
  require(job, ncclGetUniqueId(&job.id), "ncclGetUniqueId");
  const int code = mode == "processes" ? run_processes(job, argv[0], seconds) : run_threads(job);
  if (code == 0)
    std::printf("%d ranks on %d devices as %s: right\n", job.ranks, job.devices, mode.c_str());
  return code;
}
