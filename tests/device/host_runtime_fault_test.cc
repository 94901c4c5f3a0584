// The faults that tests of the library switch on, and what sanitizers must see in programs that use
// the host runtime.
#include <cstring>

#include "host_runtime.h"

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

namespace {

using host_runtime::launch_wait;
using host_runtime::new_word;
using host_runtime::run_role;
using host_runtime::set;

struct Fault {
  Fault(hipHostFault f, int64_t value) : fault(f) { hipHostSetFault(f, value); }
  ~Fault() {
    hipHostSetFault(fault, 0);
    (void)hipGetLastError();
  }
  hipHostFault fault;
};

TEST(HostFault, NoPeer) {
  const Fault fault(hipHostFaultNoPeer, 1);
  int can = 1;
  HIP_OK(hipDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(0, can);
  EXPECT_EQ(hipErrorInvalidDevice, hipDeviceEnablePeerAccess(1, 0));
}

TEST(HostFault, LyingPeerLosesStores) {
  uint64_t* mine = nullptr;
  hipIpcMemHandle_t handle;
  HIP_OK(hipMalloc(&mine, 4096));
  HIP_OK(hipIpcGetMemHandle(&handle, mine));
  *mine = 5;
  int status = -1;
  const std::string text = run_role({"lying_peer", host_runtime::to_hex(&handle, sizeof handle)},
                                    {"WEFT_HOST_FAULTS=lying_peer"}, &status);
  EXPECT_EQ(0, status) << text;
  EXPECT_EQ(5u, *mine);
  run_role({"lying_peer", host_runtime::to_hex(&handle, sizeof handle)}, {}, &status);
  EXPECT_EQ(0, status);
  EXPECT_EQ(77u, *mine);

  const Fault fault(hipHostFaultLyingPeer, 1);
  int can = 0;
  HIP_OK(hipDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(1, can);
  uint64_t* theirs = new_word(1);
  *theirs = 6;
  HIP_OK(hipMemcpyPeer(theirs, 1, mine, 0, sizeof(uint64_t)));
  EXPECT_EQ(6u, *theirs);
  uint64_t* opened = nullptr;  // within the process: a private copy as well
  HIP_OK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&opened), handle,
                             hipIpcMemLazyEnablePeerAccess));
  EXPECT_NE(mine, opened);
  *opened = 8;
  EXPECT_EQ(77u, *mine);
  HIP_OK(hipIpcCloseMemHandle(opened));
  HIP_OK(hipFree(mine));
  HIP_OK(hipFree(theirs));
}

TEST(HostFault, IpcFails) {
  void *p = nullptr, *opened = nullptr;
  hipIpcMemHandle_t handle;
  HIP_OK(hipMalloc(&p, 64));
  HIP_OK(hipIpcGetMemHandle(&handle, p));
  {
    const Fault fault(hipHostFaultIpcExport, 1);
    EXPECT_EQ(hipErrorInvalidValue, hipIpcGetMemHandle(&handle, p));
  }
  {
    const Fault fault(hipHostFaultIpcImport, 1);
    EXPECT_EQ(hipErrorInvalidDevicePointer,
              hipIpcOpenMemHandle(&opened, handle, hipIpcMemLazyEnablePeerAccess));
  }
  HIP_OK(hipFree(p));
}

TEST(HostFault, MallocFailsAtTheCount) {
  void *a = nullptr, *b = nullptr;
  const Fault fault(hipHostFaultMalloc, 2);
  HIP_OK(hipMalloc(&a, 64));
  EXPECT_EQ(hipErrorOutOfMemory, hipMalloc(&b, 64));
  HIP_OK(hipMalloc(&b, 64));
  HIP_OK(hipFree(a));
  HIP_OK(hipFree(b));
}

TEST(HostFault, LaunchFailsAtTheCount) {
  const Fault fault(hipHostFaultLaunch, 2);
  HIP_OK(launch_wait(nullptr, {}));
  EXPECT_EQ(hipErrorLaunchFailure, launch_wait(nullptr, {}));
  HIP_OK(launch_wait(nullptr, {}));
  HIP_OK(hipDeviceSynchronize());
}

TEST(HostFault, HoldLaunch) {
  uint64_t* word = new_word();
  std::thread caller;
  {
    const Fault fault(hipHostFaultHoldLaunch, 1);
    caller = std::thread([&] {
      EXPECT_EQ(hipSuccess, launch_wait(nullptr, {nullptr, 0, word, 1}));
    });
    EXPECT_TRUE(
        host_runtime::eventually([] { return hipHostGetFault(hipHostFaultHoldLaunch) == 2; }));
    HIP_OK(hipDeviceSynchronize());  // holds nothing up
    EXPECT_EQ(0u, __atomic_load_n(word, __ATOMIC_ACQUIRE));
  }
  caller.join();
  HIP_OK(hipDeviceSynchronize());
  EXPECT_EQ(1u, *word);
  HIP_OK(hipFree(word));
}

TEST(HostFault, SlowPolls) {
  uint64_t* word = new_word();
  set(word, 1);
  const Fault fault(hipHostFaultSlowPolls, 20'000);
  const auto start = std::chrono::steady_clock::now();
  HIP_OK(launch_wait(nullptr, {word, 1, nullptr, 0}));
  HIP_OK(hipDeviceSynchronize());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
  HIP_OK(hipFree(word));
}

TEST(HostFault, LostDevice) {
  void *one = nullptr, *zero = nullptr;
  int device = -1;
  HIP_OK(hipSetDevice(1));
  HIP_OK(hipMalloc(&one, 64));
  {
    const Fault fault(hipHostFaultLostDevice, 2);
    EXPECT_EQ(hipErrorLaunchFailure, hipMalloc(&zero, 64));
    EXPECT_EQ(hipErrorLaunchFailure, launch_wait(nullptr, {}));
    EXPECT_EQ(hipErrorLaunchFailure, hipFree(one));
    EXPECT_EQ(hipErrorLaunchFailure, hipDeviceSynchronize());
    HIP_OK(hipGetDevice(&device));
    EXPECT_EQ(1, device);
    HIP_OK(hipSetDevice(0));
    HIP_OK(hipMalloc(&zero, 64));
    HIP_OK(hipSetDevice(1));
  }
  HIP_OK(hipFree(one));
  HIP_OK(hipSetDevice(0));
  HIP_OK(hipFree(zero));
}

// With two resident blocks the third of a kernel whose blocks wait for the gate does not start.
TEST(HostFault, FewResidentBlocks) {
  const Fault fault(hipHostFaultResidentBlocks, 2);
  uint64_t *gate = new_word(), *count = new_word();
  struct Args {
    uint64_t *gate, *count;
  } a{gate, count};
  static const hipHostKernel kernel = {hipHostKernelMagic, "count_then_wait",
                                       [](const void* p) {
                                         const Args& args = *static_cast<const Args*>(p);
                                         __atomic_add_fetch(args.count, 1, __ATOMIC_ACQ_REL);
                                         host_runtime::wait_until(args.gate, 1);
                                       },
                                       sizeof(Args), 1};
  void* args[] = {&a};
  HIP_OK(hipLaunchKernel(&kernel, dim3(6), dim3(1), args, 0, nullptr));
  EXPECT_TRUE(
      host_runtime::eventually([&] { return __atomic_load_n(count, __ATOMIC_ACQUIRE) == 2; }));
  HIP_OK(hipSetDevice(1));  // another device is not affected and shows that the workers do run
  for (int i = 0; i < 20; ++i) {
    HIP_OK(launch_wait(nullptr, {}, 2));
    HIP_OK(hipDeviceSynchronize());
  }
  HIP_OK(hipSetDevice(0));
  EXPECT_EQ(2u, __atomic_load_n(count, __ATOMIC_ACQUIRE));
  set(gate, 1);
  HIP_OK(hipDeviceSynchronize());
  EXPECT_EQ(6u, *count);
  HIP_OK(hipFree(gate));
  HIP_OK(hipFree(count));
}

TEST(HostFault, EnvironmentSetsThemAndNamesUnknownOnes) {
  int status = -1;
  const std::string text =
      run_role({"export_and_end"}, {"WEFT_HOST_FAULTS=ipc_export=1,no_such"}, &status);
  EXPECT_EQ(3, status);
  EXPECT_NE(std::string::npos, text.find("names no fault \"no_such\"")) << text;
}

constexpr int kTsanExit = 66;

TEST(HostSanitizer, ThreadSanitizerSeesStreamOrder) {
  if (!kThreadSanitizer) GTEST_SKIP() << "not built with ThreadSanitizer";
  for (const char* role : {"race", "host_race", "lane_race"}) {
    int status = -1;
    const std::string clean = run_role({role, "ordered"}, {}, &status);
    EXPECT_EQ(0, status) << role << clean;
    EXPECT_EQ(std::string::npos, clean.find("data race")) << role << clean;
    const std::string racy = run_role({role, "unordered"}, {}, &status);
    EXPECT_NE(std::string::npos, racy.find("data race")) << role << racy;
    EXPECT_EQ(kTsanExit, status) << role;
  }
}

TEST(HostSanitizer, AddressSanitizerSeesDeviceBuffers) {
  if (!kAddressSanitizer) GTEST_SKIP() << "not built with AddressSanitizer";
  for (const char* how : {"past_end", "after_free"}) {
    int status = -1;
    const std::string text = run_role({"overflow", how}, {}, &status);
    EXPECT_NE(0, status);
    EXPECT_NE(std::string::npos, text.find("use-after-poison")) << text;
  }
}

}  // namespace
