// Collectives of the amd build through the public API, on any machine with a ROCm runtime. Small
// sizes, blocking sync and a hard time limit, so that it also suits an emulator; no clocks, no VMM.
// Exit code 77: no device here. Protocol and algorithm are chosen by the environment (NCCL_PROTO,
// NCCL_ALGO).
//
// amd_collectives threads|processes ranks seconds [name...]    ranks 0: as many as devices, at most
//                                                              8; name: an operation or a scene,
//                                                              without any all of them
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "operations.h"
#include "prepared.h"
#include "ranks.h"
#include "scenes.h"

using namespace amd_test;

namespace {

constexpr int kSkip = 77;
constexpr size_t kCounts[] = {1, 3, 1000, 4099, 40000};
constexpr size_t kOtherCount = 1003;  // of types and ops: a tail that no pack divides
constexpr ncclRedOp_t kOps[] = {ncclProd, ncclMax, ncclMin};

std::vector<const Operation*> wanted_operations;
std::vector<const Scene*> wanted_scenes;

void run_call(const Job& job, const Operation& operation, const Call& call) {
  const Prepared prepared(job, operation, call);
  prepared.issue();
  prepared.check();
}

void run_operation(const Job& job, const Operation& operation, Call call) {
  for (const size_t count : kCounts) {
    call.count = count;
    run_call(job, operation, call);
  }
  call.count = kOtherCount;
  for (const Element& element : kElements) {
    call.element = &element;
    if (is_wide(element) || !operation.adds_output) run_call(job, operation, call);
  }
  if (!operation.reduces) return;
  call.element = &kElements[0];
  for (const ncclRedOp_t op : kOps) {
    call.op = op;
    run_call(job, operation, call);
  }
}

void tell(const Job& job, const char* name) {
  if (job.rank != 0) return;
  std::printf("%s: right\n", name);
  std::fflush(stdout);
}

void run_rank(const Job& job) {
  require(job, hipSetDevice(job.rank % job.devices), "hipSetDevice");
  (void)hipSetDeviceFlags(hipDeviceScheduleBlockingSync);  // a spinning host starves an emulator
  hipStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
  require(job, ncclCommInitRank(&comm, job.ranks, job.id, job.rank), "ncclCommInitRank");
  require(job, hipStreamCreate(&stream), "hipStreamCreate");
  const Call call{&kElements[0], ncclSum, job.rank, job.ranks, 0, 0,
                  nullptr,       nullptr, comm,     stream};
  tell(job, "init");
  for (const Operation* operation : wanted_operations) {
    run_operation(job, *operation, call);
    tell(job, operation->name);
  }
  for (const Scene* scene : wanted_scenes) {
    scene->run(job, call);
    tell(job, scene->name);
  }
  require(job, hipStreamDestroy(stream), "hipStreamDestroy");
  require(job, ncclCommDestroy(comm), "ncclCommDestroy");
}

// Rows of the table with one of those names, of all without any.
template <class Row>
std::vector<const Row*> chosen(const Row* rows, size_t row_count, int count, char** names) {
  std::vector<const Row*> wanted;
  for (size_t i = 0; i < row_count; ++i) {
    bool named = count == 0;
    for (int k = 0; k < count; ++k) named |= std::strcmp(names[k], rows[i].name) == 0;
    if (named) wanted.push_back(&rows[i]);
  }
  return wanted;
}

bool choose(int count, char** names) {
  wanted_operations = chosen(kOperations, kOperationCount, count, names);
  wanted_scenes = chosen(kScenes, kSceneCount, count, names);
  return count == 0 || wanted_operations.size() + wanted_scenes.size() == size_t(count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || !choose(argc - 4, argv + 4)) {
    std::fprintf(stderr, "usage: %s threads|processes ranks seconds [name...]\n", argv[0]);
    return 2;
  }
  alarm(unsigned(std::atoi(argv[3])));  // its default action ends the process

  Job job{};
  if (hipGetDeviceCount(&job.devices) != hipSuccess || job.devices == 0) {
    std::puts("skipped: no device here");
    return kSkip;
  }
  job.ranks = std::atoi(argv[2]);
  if (job.ranks == 0) job.ranks = job.devices < kMaxRanks ? job.devices : kMaxRanks;
  if (is_rank()) {
    join_as_rank(job);
    run_rank(job);
    return 0;
  }
  if (job.ranks > job.devices) setenv("WEFT_ALLOW_SHARED_DEVICE", "1", 0);
  require(job, ncclGetUniqueId(&job.id), "ncclGetUniqueId");
  const bool processes = std::strcmp(argv[1], "processes") == 0;
  const int code = processes ? run_processes(job, argv) : run_threads(job, run_rank);
  if (code == 0)
    std::printf("%zu operations, %zu scenes, %d ranks on %d devices as %s: right\n",
                wanted_operations.size(), wanted_scenes.size(), job.ranks, job.devices, argv[1]);
  return code;
}
