// Collectives of the amd build through the public API, on any machine with a ROCm runtime. Small
// sizes, blocking sync and a hard time limit, so that it also suits an emulator; no clocks, no VMM.
// Exit code 77: no device here. The protocol is chosen by the environment (NCCL_PROTO).
//
// amd_collectives threads|processes ranks seconds [operation...]    ranks 0: as many as devices, at
//                                                                   most 8; no operation: all
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "operations.h"
#include "ranks.h"

using namespace amd_test;

namespace {

constexpr int kSkip = 77;
constexpr size_t kCounts[] = {1, 3, 1000, 4099, 40000};
constexpr size_t kOtherCount = 1003;  // of types and ops: a tail that no pack divides
constexpr ncclRedOp_t kOps[] = {ncclProd, ncclMax, ncclMin};
constexpr char kGuard = 0x5a;  // what outputs are filled with

std::vector<const Operation*> wanted_operations;

std::string describe(const Operation& operation, const Call& call) {
  return std::string(operation.name) + " of " + std::to_string(call.count) + " " +
         call.element->name + ", op " + std::to_string(int(call.op)) + ", root " +
         std::to_string(call.root);
}

bool is_fnuz(int device) {
  hipDeviceProp_t properties{};
  return hipGetDeviceProperties(&properties, device) == hipSuccess &&
         std::strncmp(properties.gcnArchName, "gfx94", 5) == 0;
}

void check(const Job& job, const Operation& operation, const Call& call,
           const std::vector<char>& got, size_t elems) {
  const bool fnuz = is_fnuz(job.rank % job.devices);
  const size_t size = call.element->bytes;
  std::vector<char> one(size);
  size_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < elems; ++i) {
    const uint64_t value = operation.wanted(call, i);
    one.assign(size, kGuard);
    if (value != kUntouched) put(*call.element, one, 0, value, fnuz);
    if (std::memcmp(one.data(), got.data() + i * size, size) == 0) continue;
    uint64_t bits = 0;
    std::memcpy(&bits, got.data() + i * size, size);
    if (wrong++ == 0)
      first = "element " + std::to_string(i) + " has bits " + std::to_string(bits) + ", wanted " +
              std::to_string(value);
  }
  if (wrong == 0) return;
  give_up(job.rank, describe(operation, call) + ": " + std::to_string(wrong) + " of " +
                        std::to_string(elems) + " wrong, the first: " + first);
}

void run_call(const Job& job, const Operation& operation, Call call) {
  const size_t size = call.element->bytes, parts = size_t(job.ranks);
  const size_t gives = call.count * (operation.gives_all ? parts : 1);
  const size_t gets = call.count * (operation.gets_all ? parts : 1);
  std::vector<char> input(gives * size), output(gets * size, kGuard);
  const bool fnuz = is_fnuz(job.rank % job.devices);
  for (size_t i = 0; i < gives; ++i)
    put(*call.element, input, i, contribution(call, job.rank, i), fnuz);

  void *from = nullptr, *to = nullptr;
  require(job, hipMalloc(&from, input.size()), "hipMalloc");
  require(job, hipMalloc(&to, output.size()), "hipMalloc");
  require(job, hipMemcpy(from, input.data(), input.size(), hipMemcpyHostToDevice), "copy in");
  require(job, hipMemcpy(to, output.data(), output.size(), hipMemcpyHostToDevice), "copy in");
  call.input = from;
  call.output = to;
  require(job, operation.run(call), describe(operation, call));
  require(job, hipStreamSynchronize(call.stream), describe(operation, call) + ": synchronize");
  require(job, hipMemcpy(output.data(), to, output.size(), hipMemcpyDeviceToHost), "copy out");
  check(job, operation, call, output, gets);
  require(job, hipFree(from), "hipFree");
  require(job, hipFree(to), "hipFree");
}

void run_operation(const Job& job, const Operation& operation, Call call) {
  for (const size_t count : kCounts) {
    call.count = count;
    call.root = int(count % size_t(job.ranks));
    run_call(job, operation, call);
  }
  call.count = kOtherCount;
  for (const Element& element : kElements) {
    call.element = &element;
    run_call(job, operation, call);
  }
  if (!operation.reduces) return;
  call.element = &kElements[0];
  for (const ncclRedOp_t op : kOps) {
    call.op = op;
    run_call(job, operation, call);
  }
}

void run_rank(const Job& job) {
  require(job, hipSetDevice(job.rank % job.devices), "hipSetDevice");
  (void)hipSetDeviceFlags(hipDeviceScheduleBlockingSync);  // a spinning host starves an emulator
  hipStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
  require(job, ncclCommInitRank(&comm, job.ranks, job.id, job.rank), "ncclCommInitRank");
  require(job, hipStreamCreate(&stream), "hipStreamCreate");
  for (const Operation* operation : wanted_operations)
    run_operation(
        job, *operation,
        {&kElements[0], ncclSum, job.rank, job.ranks, 0, 0, nullptr, nullptr, comm, stream});
  require(job, hipStreamDestroy(stream), "hipStreamDestroy");
  require(job, ncclCommDestroy(comm), "ncclCommDestroy");
}

bool choose_operations(int count, char** names) {
  for (size_t i = 0; i < kOperationCount; ++i) {
    bool wanted = count == 0;
    for (int k = 0; k < count; ++k) wanted |= std::strcmp(names[k], kOperations[i].name) == 0;
    if (wanted) wanted_operations.push_back(&kOperations[i]);
  }
  return count == 0 || wanted_operations.size() == size_t(count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || !choose_operations(argc - 4, argv + 4)) {
    std::fprintf(stderr, "usage: %s threads|processes ranks seconds [operation...]\n", argv[0]);
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
    std::printf("%zu operations, %d ranks on %d devices as %s: right\n", wanted_operations.size(),
                job.ranks, job.devices, argv[1]);
  return code;
}
