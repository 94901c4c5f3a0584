// What this executable does as another process: roles are named by the tests that start them.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "host_runtime.h"

namespace host_runtime {
namespace {

// Leaves with a line when a call fails: the test prints it.
void must(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  fprintf(stderr, "%s: %s\n", what, hipGetErrorName(error));
  _exit(3);
}
#define MUST(call) must(call, #call)

void ping_pong(const void* p) {
  uint64_t* const* words = static_cast<uint64_t* const*>(p);
  const uint64_t rounds = *words[2];
  for (uint64_t i = 1; i <= rounds; ++i) {
    wait_until(words[0], i);
    set(words[1], i);
  }
}
const hipHostKernel kPingPong = {hipHostKernelMagic, "ping_pong", &ping_pong, 3 * sizeof(void*), 1};

// Opens the parent's memory {ping, pong, rounds} (a word each, 64 bytes apart) and answers each
// ping.
int answer_pings(const std::string& hex) {
  hipIpcMemHandle_t handle;
  from_hex(hex, &handle, sizeof handle);
  uint64_t* base = nullptr;
  MUST(hipIpcOpenMemHandle(reinterpret_cast<void**>(&base), handle, hipIpcMemLazyEnablePeerAccess));
  uint64_t* words[] = {base, base + 8, base + 16};
  void* args[] = {words};
  MUST(hipLaunchKernel(&kPingPong, dim3(1), dim3(1), args, 0, nullptr));
  MUST(hipDeviceSynchronize());
  MUST(hipIpcCloseMemHandle(base));
  return 0;
}

// Waits on the parent's event in a stream, then stores what the memory held: it must be what the
// parent wrote before the event.
int follow_event(const std::string& memory_hex, const std::string& event_hex) {
  hipIpcMemHandle_t memory;
  hipIpcEventHandle_t event_handle;
  from_hex(memory_hex, &memory, sizeof memory);
  from_hex(event_hex, &event_handle, sizeof event_handle);
  uint64_t* base = nullptr;
  hipEvent_t event = nullptr;
  hipStream_t stream = nullptr;
  MUST(hipIpcOpenMemHandle(reinterpret_cast<void**>(&base), memory, hipIpcMemLazyEnablePeerAccess));
  MUST(hipIpcOpenEventHandle(&event, event_handle));
  MUST(hipStreamCreate(&stream));
  MUST(hipStreamWaitEvent(stream, event, 0));
  MUST(hipMemcpyAsync(base + 16, base, sizeof(uint64_t), hipMemcpyDefault, stream));
  if (hipStreamQuery(stream) != hipErrorNotReady) return 4;
  set(base + 8, 1);  // tells the parent that the wait is enqueued
  MUST(hipStreamSynchronize(stream));
  MUST(hipEventSynchronize(event));
  MUST(hipEventQuery(event));
  MUST(hipEventDestroy(event));
  return 0;
}

// Exports memory and ends: prints the handle.
int export_and_end() {
  void* memory = nullptr;
  hipIpcMemHandle_t handle;
  MUST(hipMalloc(&memory, 4096));
  MUST(hipIpcGetMemHandle(&handle, memory));
  printf("%s", to_hex(&handle, sizeof handle).c_str());
  return 0;
}

int lying_peer(const std::string& hex) {
  hipIpcMemHandle_t handle;
  from_hex(hex, &handle, sizeof handle);
  uint64_t* base = nullptr;
  MUST(hipIpcOpenMemHandle(reinterpret_cast<void**>(&base), handle, hipIpcMemLazyEnablePeerAccess));
  *base = 77;
  return *base == 77 ? 0 : 4;
}

int identity() {
  int count = 0;
  MUST(hipGetDeviceCount(&count));
  for (int i = 0; i < count; ++i) {
    hipDeviceProp_t p;
    MUST(hipGetDeviceProperties(&p, i));
    printf("%.16s %02x %s %d;", p.uuid.bytes, static_cast<unsigned>(p.pciBusID), p.gcnArchName,
           p.warpSize);
  }
  return 0;
}

struct FreesAtExit {
  void* memory = nullptr;
  ~FreesAtExit() {
    if (memory != nullptr && hipFree(memory) == hipErrorUnknown) _exit(5);
  }
};

void never_ends(const void* p) {
  const auto* word = *static_cast<uint64_t* const*>(p);
  while (true) hipHostPollMiss(word);
}
const hipHostKernel kNeverEnds = {hipHostKernelMagic, "never_ends", &never_ends, sizeof(void*), 1};

hipError_t launch_never_ends(uint64_t* word, unsigned blocks) {
  void* args[] = {&word};
  return hipLaunchKernel(&kNeverEnds, dim3(blocks), dim3(1), args, 0, nullptr);
}

// Returns from main while kernels wait and static objects still hold memory.
int exit_while_running() {
  static FreesAtExit holder;
  MUST(hipMalloc(&holder.memory, 4096));
  MUST(launch_never_ends(static_cast<uint64_t*>(holder.memory), 64));
  return 0;
}

// With WEFT_HOST_STALL the watchdog reports; the parent closes the pipe when it has read enough.
int stall() {
  uint64_t* word = nullptr;
  MUST(hipMalloc(&word, 4096));
  memset(word, 0, 4096);
  word[1] = 0x1234;
  MUST(launch_never_ends(word + 1, 2));
  MUST(hipSetDevice(1));
  // The report is on stderr long before this bound, which only ends a test that failed.
  for (int i = 0; i < 20; ++i) usleep(100000);
  _exit(0);
}

void arrives_and_never_ends(const void* p) {
  uint64_t* word = *static_cast<uint64_t* const*>(p);
  std::atomic_ref(word[0]).fetch_add(1);
  never_ends(p);
}
const hipHostKernel kArrivesAndNeverEnds = {hipHostKernelMagic, "arrives_and_never_ends",
                                            &arrives_and_never_ends, sizeof(void*), 1};

// A child that was forked after the runtime started may not use it, but must be able to end. The
// blocks have begun by then: a sanitizer's allocator, unlike the C library's, is not whole in a
// child that is forked while another thread is inside it.
int fork_after_start() {
  constexpr unsigned kBlocks = 2;
  uint64_t* word = nullptr;
  MUST(hipMalloc(&word, 4096));
  memset(word, 0, 4096);
  void* args[] = {&word};
  MUST(hipLaunchKernel(&kArrivesAndNeverEnds, dim3(kBlocks), dim3(1), args, 0, nullptr));
  while (std::atomic_ref(word[0]).load() < kBlocks) sched_yield();
  const pid_t child = fork();
  void* memory = nullptr;
  if (child == 0) exit(hipMalloc(&memory, 4096) == hipErrorNotInitialized ? 0 : 4);
  return wait_role(child);
}

void add_one(const void* p) { ++**static_cast<uint64_t* const*>(p); }
const hipHostKernel kAddOne = {hipHostKernelMagic, "add_one", &add_one, sizeof(void*), 1};

// Two streams touch one word; with "ordered" an event makes the second follow the first, else TSAN
// must object.
int race(bool ordered) {
  uint64_t* word = nullptr;
  hipStream_t a = nullptr, b = nullptr;
  hipEvent_t event = nullptr;
  MUST(hipMalloc(&word, 64));
  MUST(hipMemset(word, 0, 64));
  MUST(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
  MUST(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
  MUST(hipEventCreate(&event));
  void* args[] = {&word};
  MUST(hipLaunchKernel(&kAddOne, dim3(1), dim3(1), args, 0, a));
  MUST(hipEventRecord(event, a));
  if (ordered) MUST(hipStreamWaitEvent(b, event, 0));
  MUST(hipLaunchKernel(&kAddOne, dim3(1), dim3(1), args, 0, b));
  MUST(hipStreamSynchronize(b));
  MUST(hipStreamSynchronize(a));
  return *word == 2 ? 0 : 4;
}

// Reads the result of a kernel on the host with or without synchronising.
int host_race(bool ordered) {
  uint64_t* word = nullptr;
  MUST(hipMalloc(&word, 64));
  memset(word, 0, 64);
  void* args[] = {&word};
  MUST(hipLaunchKernel(&kAddOne, dim3(1), dim3(1), args, 0, nullptr));
  if (ordered) MUST(hipDeviceSynchronize());
  const volatile uint64_t seen = *word;
  MUST(hipDeviceSynchronize());
  return seen <= 1 ? 0 : 4;
}

struct LaneArgs {
  uint64_t* words;
  bool barrier;
};
void lanes_share(const void* p) {
  const LaneArgs& a = *static_cast<const LaneArgs*>(p);
  const unsigned lane = hipHostThisLane()->lane;
  if (lane == 0) a.words[0] = 5;
  if (a.barrier) hipHostBarrier();
  if (lane == 1) a.words[1] = a.words[0];
}
const hipHostKernel kLanesShare = {hipHostKernelMagic, "lanes_share", &lanes_share,
                                   sizeof(LaneArgs), 4};

int lane_race(bool ordered) {
  LaneArgs lane_args{nullptr, ordered};
  MUST(hipMalloc(&lane_args.words, 64));
  void* args[] = {&lane_args};
  MUST(hipLaunchKernel(&kLanesShare, dim3(1), dim3(4), args, 0, nullptr));
  MUST(hipDeviceSynchronize());
  return 0;
}

void writes_past_end(const void* p) {
  auto* bytes = *static_cast<char* const*>(p);
  *static_cast<volatile char*>(bytes + 1000) = 1;
}
const hipHostKernel kWritesPastEnd = {hipHostKernelMagic, "writes_past_end", &writes_past_end,
                                      sizeof(void*), 1};

int overflow(bool after_free) {
  char* bytes = nullptr;
  MUST(hipMalloc(&bytes, after_free ? 2000 : 1000));
  if (after_free) MUST(hipFree(bytes));
  void* args[] = {&bytes};
  MUST(hipLaunchKernel(&kWritesPastEnd, dim3(1), dim3(1), args, 0, nullptr));
  MUST(hipDeviceSynchronize());
  return 0;
}

}  // namespace

int role_main(int argc, char** argv) {
  const std::string role = argv[0], first = argc > 1 ? argv[1] : "",
                    second = argc > 2 ? argv[2] : "";
  if (role == "answer_pings") return answer_pings(first);
  if (role == "follow_event") return follow_event(first, second);
  if (role == "export_and_end") return export_and_end();
  if (role == "lying_peer") return lying_peer(first);
  if (role == "identity") return identity();
  if (role == "exit_while_running") return exit_while_running();
  if (role == "stall") return stall();
  if (role == "fork_after_start") return fork_after_start();
  if (role == "race") return race(first == "ordered");
  if (role == "host_race") return host_race(first == "ordered");
  if (role == "lane_race") return lane_race(first == "ordered");
  if (role == "overflow") return overflow(first == "after_free");
  fprintf(stderr, "no role %s\n", role.c_str());
  return 2;
}

}  // namespace host_runtime
