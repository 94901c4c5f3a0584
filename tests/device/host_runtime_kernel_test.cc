// Kernels on the host runtime: what a lane sees, waiting on one another across blocks, devices and
// workers, barriers, ordinary HIP kernels, and that nothing burns the processor while it waits.
#include <sys/resource.h>

#include <atomic>
#include <cstring>

#include "host_runtime.h"

namespace {

using host_runtime::launch_wait;
using host_runtime::new_word;
using host_runtime::set;
using host_runtime::wait_until;

struct LaneRecord {
  unsigned block, grid, lane, lanes, block_dim, thread_x, block_y, shared_sum;
};
struct RecordArgs {
  LaneRecord* out;
};
void record_lane(const void* p) {
  const hipHostLane& l = *hipHostThisLane();
  const auto* shared = static_cast<const unsigned char*>(l.shared);
  unsigned sum = 0;
  for (unsigned i = 0; i < hipHostSharedBytes; ++i) sum += shared[i];
  static_cast<const RecordArgs*>(p)->out[l.block * l.lanes + l.lane] = {
      l.block, l.grid, l.lane, l.lanes, l.block_dim, l.thread_idx[0], l.block_idx[1], sum};
}
const hipHostKernel kRecordLane = {hipHostKernelMagic, "record_lane", &record_lane,
                                   sizeof(RecordArgs), 4};

TEST(HostKernel, LaneKnowsWhereItIs) {
  RecordArgs ra{};
  HIP_OK(hipMalloc(&ra.out, sizeof(LaneRecord) * 24));
  void* args[] = {&ra};
  HIP_OK(hipLaunchKernel(&kRecordLane, dim3(2, 3), dim3(32), args, 0, nullptr));
  HIP_OK(hipDeviceSynchronize());
  EXPECT_EQ(nullptr, hipHostThisLane());
  for (unsigned b = 0; b < 6; ++b) {
    for (unsigned l = 0; l < 4; ++l) {
      const LaneRecord& r = ra.out[b * 4 + l];
      EXPECT_EQ(b, r.block);
      EXPECT_EQ(6u, r.grid);
      EXPECT_EQ(l, r.lane);
      EXPECT_EQ(4u, r.lanes);
      EXPECT_EQ(32u, r.block_dim);
      EXPECT_EQ(b / 2, r.block_y);
      EXPECT_EQ(0u, r.shared_sum);
    }
  }
  HIP_OK(hipFree(ra.out));
}

TEST(HostKernel, RefusesWhatCannotRun) {
  void* args[] = {nullptr};
  EXPECT_EQ(hipErrorInvalidDeviceFunction,
            hipLaunchKernel(reinterpret_cast<const void*>(&record_lane), dim3(1), dim3(1), args, 0,
                            nullptr));
  EXPECT_EQ(hipErrorInvalidDeviceFunction,
            hipLaunchKernel(static_cast<const void*>(nullptr), dim3(1), dim3(1), args, 0, nullptr));
  EXPECT_EQ(hipErrorInvalidValue,
            hipLaunchKernel(&kRecordLane, dim3(1), dim3(1), args, 0, nullptr));
  RecordArgs ra{};
  args[0] = &ra;
  EXPECT_EQ(hipErrorInvalidConfiguration,
            hipLaunchKernel(&kRecordLane, dim3(0), dim3(1), args, 0, nullptr));
  EXPECT_EQ(hipErrorInvalidConfiguration,
            hipLaunchKernel(&kRecordLane, dim3(1), dim3(1025), args, 0, nullptr));
  EXPECT_EQ(hipErrorCooperativeLaunchTooLarge,
            hipLaunchCooperativeKernel(&kRecordLane, dim3(100000), dim3(1), args, 0, nullptr));
  hipFuncAttributes fa;
  HIP_OK(hipFuncGetAttributes(&fa, &kRecordLane));
  EXPECT_EQ(1024, fa.maxThreadsPerBlock);
  int blocks = 0;
  HIP_OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kRecordLane, 512, 0));
  EXPECT_EQ(4, blocks);
  (void)hipGetLastError();
}

// Every block of every device's kernel waits for all the others, round after round.
struct MeetArgs {
  uint64_t* count;
  uint64_t everyone;
  uint64_t rounds;
};
void meet(const void* p) {
  const MeetArgs& a = *static_cast<const MeetArgs*>(p);
  for (uint64_t r = 1; r <= a.rounds; ++r) {
    __atomic_add_fetch(a.count, 1, __ATOMIC_ACQ_REL);
    hipHostNotify(a.count);
    wait_until(a.count, r * a.everyone);
  }
}
const hipHostKernel kMeet = {hipHostKernelMagic, "meet", &meet, sizeof(MeetArgs), 1};

TEST(HostKernel, ManyMoreBlocksThanWorkersMeet) {
  constexpr unsigned kBlocks = 40;
  constexpr int kDevices = 8;
  uint64_t* count = new_word();
  MeetArgs ma{count, kBlocks * kDevices, 20};
  void* args[] = {&ma};
  for (int d = 0; d < kDevices; ++d) {
    HIP_OK(hipSetDevice(d));
    HIP_OK(hipLaunchKernel(&kMeet, dim3(kBlocks), dim3(1), args, 0, nullptr));
  }
  for (int d = 0; d < kDevices; ++d) {
    HIP_OK(hipSetDevice(d));
    HIP_OK(hipDeviceSynchronize());
  }
  HIP_OK(hipSetDevice(0));
  EXPECT_EQ(ma.everyone * ma.rounds, *count);
  HIP_OK(hipFree(count));
}

// Sleeping workers must be rung: each hand-over that only the 50 ms backstop noticed would show in
// the time.
TEST(HostKernel, RingWakesTheOtherWorker) {
  uint64_t *there = new_word(0), *back = new_word(1);
  constexpr uint64_t kRounds = 300;
  struct Args {
    uint64_t *wait, *tell;
    uint64_t first, rounds;
  };
  static const hipHostKernel kernel = {hipHostKernelMagic, "hand_over",
                                       [](const void* p) {
                                         const Args& a = *static_cast<const Args*>(p);
                                         if (hipHostThisLane()->block == a.first)
                                           return;  // so that the two run on different workers
                                         for (uint64_t i = 1; i <= a.rounds; ++i) {
                                           if (a.first == 1) set(a.tell, i);
                                           wait_until(a.wait, i);
                                           if (a.first == 0) set(a.tell, i);
                                         }
                                       },
                                       sizeof(Args), 1};
  hipStream_t s[2];
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < 2; ++k) {
    HIP_OK(hipStreamCreateWithFlags(&s[k], hipStreamNonBlocking));
    Args a{k == 0 ? there : back, k == 0 ? back : there, static_cast<uint64_t>(k), kRounds};
    void* args[] = {&a};
    HIP_OK(hipLaunchKernel(&kernel, dim3(2), dim3(1), args, 0, s[k]));
  }
  for (hipStream_t stream : s) {
    HIP_OK(hipStreamSynchronize(stream));
    HIP_OK(hipStreamDestroy(stream));
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(seconds, kRounds * 0.050 / 4) << "hand-overs wait for the backstop";
  HIP_OK(hipFree(there));
  HIP_OK(hipFree(back));
}

TEST(HostKernel, StartsWhileOthersWait) {
  uint64_t *gate = new_word(), *done = new_word();
  hipStream_t a = nullptr, b = nullptr;
  HIP_OK(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
  HIP_OK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
  HIP_OK(launch_wait(a, {gate, 1, nullptr, 0}, 64));
  for (int i = 0; i < 50; ++i) {
    HIP_OK(launch_wait(b, {nullptr, 0, done, static_cast<uint64_t>(i) + 1}, 4));
    HIP_OK(hipStreamSynchronize(b));
    EXPECT_EQ(static_cast<uint64_t>(i) + 1, *done);
  }
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(a));
  set(gate, 1);
  HIP_OK(hipStreamSynchronize(a));
  HIP_OK(hipStreamDestroy(a));
  HIP_OK(hipStreamDestroy(b));
  HIP_OK(hipFree(gate));
  HIP_OK(hipFree(done));
}

double cpu_seconds() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// Of this process in a second in which the host does nothing.
double cpu_seconds_of_a_second() {
  const double before = cpu_seconds();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::this_thread::sleep_until(end);  // the span that is measured, not a wait for something
  return cpu_seconds() - before;
}

#ifdef __SANITIZE_THREAD__
// It instruments what workers do before they fall asleep: 0.21 seen.
constexpr double kMostCpuSeconds = 0.5;
#else
constexpr double kMostCpuSeconds = 0.2;  // polling would take a second a worker
#endif

TEST(HostKernel, WaitingCostsNoProcessorTime) {
  uint64_t* gate = new_word();
  HIP_OK(launch_wait(nullptr, {gate, 1, nullptr, 0}, 32));
  EXPECT_LT(cpu_seconds_of_a_second(), kMostCpuSeconds);
  set(gate, 1);
  HIP_OK(hipDeviceSynchronize());
  HIP_OK(hipFree(gate));
}

TEST(HostKernel, AnIdleDeviceCostsNoProcessorTime) {
  HIP_OK(launch_wait(nullptr, {nullptr, 0, nullptr, 0}, 32));  // every worker has had a block
  HIP_OK(hipDeviceSynchronize());
  EXPECT_LT(cpu_seconds_of_a_second(), kMostCpuSeconds);
}

struct BarrierArgs {
  uint64_t* sums;
  int rounds;
};
void lanes_sum(const void* p) {
  const BarrierArgs& a = *static_cast<const BarrierArgs*>(p);
  const hipHostLane& l = *hipHostThisLane();
  auto* shared = static_cast<uint64_t*>(l.shared);
  for (int r = 0; r < a.rounds; ++r) {
    shared[l.lane] = l.lane + static_cast<uint64_t>(r);
    hipHostBarrier();
    if (l.lane == 0) {
      for (unsigned i = 0; i < l.lanes; ++i) a.sums[l.block] += shared[i];
    }
    hipHostBarrier();
  }
}
const hipHostKernel kLanesSum = {hipHostKernelMagic, "lanes_sum", &lanes_sum, sizeof(BarrierArgs),
                                 4};

TEST(HostKernel, BarrierKeepsLanesTogether) {
  constexpr unsigned kBlocks = 7;
  constexpr int kRounds = 50;
  BarrierArgs ba{nullptr, kRounds};
  HIP_OK(hipMalloc(&ba.sums, kBlocks * sizeof(uint64_t)));
  HIP_OK(hipMemset(ba.sums, 0, kBlocks * sizeof(uint64_t)));
  void* args[] = {&ba};
  HIP_OK(hipLaunchKernel(&kLanesSum, dim3(kBlocks), dim3(64), args, 0, nullptr));
  HIP_OK(hipDeviceSynchronize());
  uint64_t expected = 0;
  for (int r = 0; r < kRounds; ++r) expected += 6 + 4 * static_cast<uint64_t>(r);
  for (unsigned b = 0; b < kBlocks; ++b) EXPECT_EQ(expected, ba.sums[b]);
  HIP_OK(hipFree(ba.sums));
}

__global__ void reverse_in_block(int* data, int n) {
  __shared__ int tile[128];
  const unsigned t = threadIdx.x, at = blockIdx.x * blockDim.x + t;
  if (static_cast<int>(at) < n) tile[t] = data[at];
  __syncthreads();
  if (static_cast<int>(at) < n) data[at] = tile[blockDim.x - 1 - t];
}
__global__ void leaves_early(int* data) {
  HIP_DYNAMIC_SHARED(int, tile);
  if (threadIdx.x >= 16) return;  // the others still meet at the barrier
  tile[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 16; ++i) atomicAdd(data, tile[i]);
  }
}

TEST(HostKernel, OrdinaryKernels) {
  constexpr int kCount = 128 * 9;
  std::vector<int> values(kCount);
  for (int i = 0; i < kCount; ++i) values[static_cast<size_t>(i)] = i;
  int* data = nullptr;
  HIP_OK(hipMalloc(&data, kCount * sizeof(int)));
  HIP_OK(hipMemcpy(data, values.data(), kCount * sizeof(int), hipMemcpyDefault));
  hipLaunchKernelGGL(reverse_in_block, dim3(9), dim3(128), 0, nullptr, data, kCount);
  HIP_OK(hipGetLastError());
  HIP_OK(hipMemcpy(values.data(), data, kCount * sizeof(int), hipMemcpyDefault));
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(i / 128 * 128 + 127 - i % 128, values[static_cast<size_t>(i)]);
  }
  HIP_OK(hipMemset(data, 0, sizeof(int)));
  void* args[] = {&data};
  HIP_OK(hipLaunchKernel(leaves_early, dim3(3), dim3(64), args, 4096, nullptr));
  HIP_OK(hipDeviceSynchronize());
  EXPECT_EQ(3 * 120, *data);
  HIP_OK(hipFree(data));
}

__global__ void ordinary_blocks_wait(uint64_t* count, uint64_t everyone) {
  if (threadIdx.x == 0) {
    __atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
    hipHostNotify(count);
    wait_until(count, everyone);
  }
  __syncthreads();
}

TEST(HostKernel, OrdinaryBlocksMayWaitForEachOther) {
  uint64_t* count = new_word();
  hipLaunchKernelGGL(ordinary_blocks_wait, dim3(12), dim3(32), 0, nullptr, count, uint64_t{12});
  HIP_OK(hipDeviceSynchronize());
  EXPECT_EQ(12u, *count);
  HIP_OK(hipFree(count));
}

}  // namespace
