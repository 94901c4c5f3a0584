// The host runtime between processes and at the edges of a process: IPC handles, doorbells across
// processes, exit, fork, another runtime.
#include <unistd.h>

#include <cstring>

#include "host_runtime.h"

namespace {

using host_runtime::eventually;
using host_runtime::launch_wait;
using host_runtime::new_word;
using host_runtime::run_role;
using host_runtime::set;
using host_runtime::start_role;
using host_runtime::to_hex;
using host_runtime::wait_role;

std::string memory_handle(void* p) {
  hipIpcMemHandle_t handle;
  EXPECT_EQ(hipSuccess, hipIpcGetMemHandle(&handle, p));
  return to_hex(&handle, sizeof handle);
}

// A kernel here and one in another process hand a counter back and forth through memory of this
// process. If doorbells did not reach the other process, every hand-over would last until the
// backstop of 50 ms.
TEST(HostProcess, KernelsOfTwoProcessesWakeEachOther) {
  constexpr uint64_t kRounds = 300;
  uint64_t* words = nullptr;
  HIP_OK(hipMalloc(&words, 4096));
  memset(words, 0, 4096);
  words[16] = kRounds;
  const pid_t child = start_role({"answer_pings", memory_handle(words)});
  struct Args {
    uint64_t *ping, *pong;
    uint64_t rounds;
  } a{words, words + 8, kRounds};
  static const hipHostKernel kernel = {hipHostKernelMagic, "ping",
                                       [](const void* p) {
                                         const Args& args = *static_cast<const Args*>(p);
                                         for (uint64_t i = 1; i <= args.rounds; ++i) {
                                           set(args.ping, i);
                                           host_runtime::wait_until(args.pong, i);
                                         }
                                       },
                                       sizeof(Args), 1};
  // The first round also waits for the other process to start.
  Args first = a;
  first.rounds = 1;
  void* args[] = {&first};
  HIP_OK(hipLaunchKernel(&kernel, dim3(1), dim3(1), args, 0, nullptr));
  HIP_OK(hipDeviceSynchronize());
  const auto start = std::chrono::steady_clock::now();
  args[0] = &a;
  HIP_OK(hipLaunchKernel(&kernel, dim3(1), dim3(1), args, 0, nullptr));
  HIP_OK(hipDeviceSynchronize());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(0, wait_role(child));
  EXPECT_LT(seconds, kRounds * 0.050 / 3) << "hand-overs wait for the backstop";
  HIP_OK(hipFree(words));
}

TEST(HostProcess, EventOfThisProcessOrdersAnother) {
  uint64_t *words = nullptr, *gate = new_word();
  hipEvent_t event = nullptr;
  hipStream_t stream = nullptr;
  hipIpcEventHandle_t event_handle;
  HIP_OK(hipMalloc(&words, 4096));
  memset(words, 0, 4096);
  HIP_OK(hipStreamCreate(&stream));
  EXPECT_EQ(hipErrorInvalidValue, hipEventCreateWithFlags(&event, hipEventInterprocess));
  HIP_OK(hipEventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming));
  HIP_OK(hipIpcGetEventHandle(&event_handle, event));
  HIP_OK(launch_wait(stream, {gate, 1, words, 42}));
  HIP_OK(hipEventRecord(event, stream));
  const pid_t child = start_role(
      {"follow_event", memory_handle(words), to_hex(&event_handle, sizeof event_handle)});
  EXPECT_TRUE(eventually([&] { return __atomic_load_n(words + 8, __ATOMIC_ACQUIRE) == 1; }));
  EXPECT_EQ(hipErrorNotReady, hipEventQuery(event));
  set(gate, 1);
  EXPECT_EQ(0, wait_role(child));
  EXPECT_EQ(42u, words[16]);
  HIP_OK(hipEventQuery(event));
  HIP_OK(hipEventDestroy(event));
  HIP_OK(hipStreamDestroy(stream));
  HIP_OK(hipFree(words));
  HIP_OK(hipFree(gate));
}

TEST(HostProcess, OwnHandleGivesTheSamePointer) {
  char *p = nullptr, *opened = nullptr, *again = nullptr;
  hipIpcMemHandle_t handle;
  HIP_OK(hipMalloc(&p, 4096));
  HIP_OK(hipIpcGetMemHandle(&handle, p + 100));
  HIP_OK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&opened), handle,
                             hipIpcMemLazyEnablePeerAccess));
  HIP_OK(
      hipIpcOpenMemHandle(reinterpret_cast<void**>(&again), handle, hipIpcMemLazyEnablePeerAccess));
  EXPECT_EQ(p + 100, opened);
  EXPECT_EQ(p + 100, again);
  HIP_OK(hipIpcCloseMemHandle(opened));
  HIP_OK(hipIpcCloseMemHandle(again));
  EXPECT_EQ(hipErrorInvalidValue, hipIpcCloseMemHandle(opened));
  EXPECT_EQ(hipErrorInvalidValue,
            hipIpcOpenMemHandle(reinterpret_cast<void**>(&opened), handle, 0));
  memset(&handle, 0x55, sizeof handle);
  EXPECT_EQ(hipErrorInvalidValue, hipIpcOpenMemHandle(reinterpret_cast<void**>(&opened), handle,
                                                      hipIpcMemLazyEnablePeerAccess));
  int local = 0;
  EXPECT_EQ(hipErrorInvalidValue, hipIpcGetMemHandle(&handle, &local));
  HIP_OK(hipFree(p));
}

TEST(HostProcess, HandleOfADeadProcessIsRefused) {
  int status = 0;
  const std::string hex = run_role({"export_and_end"}, {}, &status);
  ASSERT_EQ(0, status);
  hipIpcMemHandle_t handle;
  ASSERT_EQ(2 * sizeof handle, hex.size());
  host_runtime::from_hex(hex, &handle, sizeof handle);
  void* p = nullptr;
  EXPECT_EQ(hipErrorInvalidDevicePointer,
            hipIpcOpenMemHandle(&p, handle, hipIpcMemLazyEnablePeerAccess));
}

TEST(HostProcess, EndsWhileKernelsWait) {
  int status = -1;
  const std::string text = run_role({"exit_while_running"}, {}, &status);
  EXPECT_EQ(0, status) << text;
}

TEST(HostProcess, ForkedChildIsRefusedAndEnds) {
  int status = -1;
  const std::string text = run_role({"fork_after_start"}, {}, &status);
  EXPECT_EQ(0, status) << text;
}

TEST(HostProcess, WatchdogNamesBlockAndAddress) {
  int status = -1;
  const std::string text = run_role({"stall"}, {"WEFT_HOST_STALL=0.3"}, &status);
  EXPECT_NE(std::string::npos, text.find("no progress for 0.3 s; 2 fibers wait")) << text;
  EXPECT_NE(std::string::npos, text.find("never_ends, device 0, block 1 of 2")) << text;
  EXPECT_NE(std::string::npos, text.find("allocation of 4096 bytes, offset 8, holds 0x00001234"))
      << text;
  const std::string quiet = run_role({"exit_while_running"}, {}, &status);
  EXPECT_EQ(std::string::npos, quiet.find("no progress"));
}

// HOST_RUNTIME_CLASH is a program that loads something called libamdhip64 beside this runtime.
TEST(HostProcess, RefusesBesideARealRuntime) {
  FILE* program = popen(HOST_RUNTIME_CLASH " 2>&1", "r");
  ASSERT_NE(nullptr, program);
  std::string text;
  char buffer[512];
  while (fgets(buffer, sizeof buffer, program) != nullptr) text += buffer;
  EXPECT_EQ(0, pclose(program)) << text;
  const size_t at = text.find("hiphost: this program has a real HIP runtime loaded");
  ASSERT_NE(std::string::npos, at) << text;
  EXPECT_EQ(std::string::npos, text.find("hiphost:", at + 1)) << "one line, once: " << text;
  EXPECT_NE(std::string::npos, text.find("libamdhip64.so"));
  EXPECT_NE(std::string::npos, text.find("hipErrorNotSupported count 0"));
}

}  // namespace
