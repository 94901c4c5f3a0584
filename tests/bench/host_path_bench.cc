// What a call costs on the host: from the entry of the C API to the launch of its kernel. Kernels
// are not run: hipLaunchKernel of this program stands before the runtime's and only takes the time,
// so that what is measured is the library alone. Also counted, as none of them may be on the path
// of a repeated call: allocations, reads of the environment, events.
//
//   host_path_bench [TIMES]
//
// Prints a table; exits 1 where something was counted or a median is above its limit, or above
// TIMES its limit where other programs run beside.
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Counts {
  long launches, allocations, environment, events;
};
thread_local bool counting = false;  // in the thread that is measured
Counts counts;
Clock::time_point launched;

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// ---- What stands before the libraries' own ----

extern "C" hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args,
                                      size_t shared, hipStream_t stream) {
  static const auto real =
      next<hipError_t(const void*, dim3, dim3, void**, size_t, hipStream_t)>("hipLaunchKernel");
  if (!counting) return real(kernel, grid, block, args, shared, stream);
  launched = Clock::now();
  ++counts.launches;
  return hipSuccess;
}
extern "C" hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  static const auto real = next<hipError_t(hipEvent_t, hipStream_t)>("hipEventRecord");
  if (counting) ++counts.events;
  return real(event, stream);
}
extern "C" hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  static const auto real =
      next<hipError_t(hipStream_t, hipEvent_t, unsigned)>("hipStreamWaitEvent");
  if (counting) ++counts.events;
  return real(stream, event, flags);
}
extern "C" char* getenv(const char* name) noexcept {
  static const auto real = next<char*(const char*)>("getenv");
  if (counting) ++counts.environment;
  return real(name);
}
extern "C" void* __libc_malloc(size_t bytes);  // of the C library
extern "C" void* malloc(size_t bytes) {
  if (counting) ++counts.allocations;
  return __libc_malloc(bytes);
}

namespace {

template <class Result, class Success>
void must(Result result, Success success, const char* what) {
  if (result == success) return;
  fprintf(stderr, "%s: %d\n", what, int(result));
  exit(2);
}
#define HIP(call) must(call, hipSuccess, #call)
#define CCL(call) must(call, ncclSuccess, #call)

constexpr int kRanks = 2;
constexpr size_t kBytes = 64 << 20;

struct Rank {
  ncclComm_t comm = nullptr;
  hipStream_t stream = nullptr;
  float *input = nullptr, *output = nullptr;
};

// The rank that is measured; the other one is only there.
Rank start_ranks() {
  ncclUniqueId id;
  CCL(ncclGetUniqueId(&id));
  Rank ranks[kRanks];
  const auto start = [&](int rank) {
    Rank& mine = ranks[rank];
    HIP(hipSetDevice(rank));
    HIP(hipStreamCreateWithFlags(&mine.stream, hipStreamNonBlocking));
    HIP(hipMalloc(reinterpret_cast<void**>(&mine.input), kBytes));
    HIP(hipMalloc(reinterpret_cast<void**>(&mine.output), kBytes));
    CCL(ncclCommInitRank(&mine.comm, kRanks, id, rank));
  };
  std::thread other(start, 1);
  start(0);
  other.join();
  return ranks[0];
}

struct Case {
  const char* name;
  double limit_us;
  std::function<void()> call;
};

// Medians of batches: the lowest is that of the batch that nothing else disturbed.
bool measure(const Case& each, double times_limit) {
  constexpr int kWarm = 200, kBatches = 20, kCalls = 500;
  std::vector<double> times(kCalls), medians(kBatches);
  for (int i = 0; i < kWarm; ++i) each.call();
  counts = {};
  for (double& median : medians) {
    for (double& time : times) {
      const auto entry = Clock::now();
      each.call();
      time = std::chrono::duration<double, std::micro>(launched - entry).count();
    }
    std::ranges::nth_element(times, times.begin() + kCalls / 2);
    median = times[kCalls / 2];
  }
  const double lowest = std::ranges::min(medians), highest = std::ranges::max(medians);
  const double calls = kBatches * kCalls;
  printf("%-34s %7.3f %7.3f %6.1f %9.2f %12.2f %12.2f %7.2f\n", each.name, lowest, highest,
         each.limit_us, double(counts.launches) / calls, double(counts.allocations) / calls,
         double(counts.environment) / calls, double(counts.events) / calls);
  return lowest <= each.limit_us * times_limit && counts.launches == long(calls) &&
         counts.allocations == 0 && counts.environment == 0 && counts.events == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const double times_limit = argc > 1 ? atof(argv[1]) : 1;
  const Rank me = start_ranks();
  const auto all_reduce = [&](size_t bytes) {
    CCL(ncclAllReduce(me.input, me.output, bytes / sizeof(float), ncclFloat32, ncclSum, me.comm,
                      me.stream));
  };
  const auto messages = [&](int pairs, size_t bytes) {
    CCL(ncclGroupStart());
    for (int i = 0; i < pairs; ++i) {
      const size_t at = size_t(i) * bytes / sizeof(float);
      CCL(ncclSend(me.input + at, bytes, ncclUint8, 1, me.comm, me.stream));
      CCL(ncclRecv(me.output + at, bytes, ncclUint8, 1, me.comm, me.stream));
    }
    CCL(ncclGroupEnd());
  };
  const Case cases[] = {
      {"AllReduce, 8 bytes", 1.0, [&] { all_reduce(8); }},
      {"AllReduce, 1 MiB", 1.0, [&] { all_reduce(1 << 20); }},
      {"AllReduce, 64 MiB", 1.0, [&] { all_reduce(64 << 20); }},
      {"AllGather, 64 KiB", 1.0,
       [&] { CCL(ncclAllGather(me.input, me.output, 32 << 10, ncclUint8, me.comm, me.stream)); }},
      {"4 sends and 4 receives, 1 KiB", 2.0, [&] { messages(4, 1 << 10); }},
      {"4 sends and 4 receives, 1 MiB", 2.0, [&] { messages(4, 1 << 20); }},
  };
  printf("%-34s %7s %7s %6s %9s %12s %12s %7s\n", "us from entry to launch, a call", "lowest",
         "highest", "limit", "launches", "allocations", "environment", "events");
  bool good = true;
  counting = true;
  for (const Case& each : cases) good &= measure(each, times_limit);
  counting = false;
  fflush(stdout);
  _Exit(good ? 0 : 1);  // the kernels of the calls were not run: nothing can be ended in order
}
