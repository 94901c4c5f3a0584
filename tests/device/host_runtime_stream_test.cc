// Streams and events of the host runtime: order, the null stream, waits across devices, host
// functions, values in memory, bad handles.
#include <atomic>
#include <cstring>

#include "host_runtime.h"

namespace {

using host_runtime::eventually;
using host_runtime::launch_wait;
using host_runtime::new_word;
using host_runtime::set;

class HostStream : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hipSuccess, hipSetDevice(0));
    ASSERT_EQ(hipSuccess, hipStreamCreateWithFlags(&a_, hipStreamNonBlocking));
    ASSERT_EQ(hipSuccess, hipStreamCreateWithFlags(&b_, hipStreamNonBlocking));
    gate_ = new_word();
    out_ = new_word();
  }
  void TearDown() override {
    set(gate_, 1);
    EXPECT_EQ(hipSuccess, hipDeviceSynchronize());
    EXPECT_EQ(hipSuccess, hipStreamDestroy(a_));
    EXPECT_EQ(hipSuccess, hipStreamDestroy(b_));
    EXPECT_EQ(hipSuccess, hipFree(gate_));
    EXPECT_EQ(hipSuccess, hipFree(out_));
    (void)hipGetLastError();
  }
  hipStream_t a_ = nullptr, b_ = nullptr;
  uint64_t *gate_ = nullptr, *out_ = nullptr;
};

TEST_F(HostStream, KeepsOrderOfEverything) {
  std::vector<int> order;  // host functions of one stream never overlap
  struct Entry {
    std::vector<int>* order;
    int number;
  };
  std::vector<Entry> entries;
  for (int i = 0; i < 50; ++i) entries.push_back({&order, i});
  HIP_OK(launch_wait(a_, {gate_, 1, nullptr, 0}));
  for (Entry& e : entries) {
    HIP_OK(launch_wait(a_, {nullptr, 0, out_, static_cast<uint64_t>(e.number) + 1}, 3));
    HIP_OK(hipLaunchHostFunc(
        a_,
        [](void* p) {
          auto* entry = static_cast<Entry*>(p);
          entry->order->push_back(entry->number);
        },
        &e));
  }
  HIP_OK(hipMemcpyAsync(out_ + 1, out_, sizeof(uint64_t), hipMemcpyDefault, a_));
  EXPECT_EQ(0u, *out_);
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(a_));
  set(gate_, 1);
  HIP_OK(hipStreamSynchronize(a_));
  HIP_OK(hipStreamQuery(a_));
  ASSERT_EQ(50u, order.size());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(i, order[static_cast<size_t>(i)]);
  EXPECT_EQ(50u, out_[1]);
}

TEST_F(HostStream, NullStreamOrdersBlockingStreamsOnly) {
  hipStream_t blocking = nullptr;
  HIP_OK(hipStreamCreate(&blocking));
  HIP_OK(launch_wait(blocking, {gate_, 1, nullptr, 0}));
  HIP_OK(launch_wait(nullptr, {nullptr, 0, out_, 1}));       // behind the blocking stream
  HIP_OK(launch_wait(blocking, {nullptr, 0, out_ + 1, 1}));  // behind the null stream
  HIP_OK(launch_wait(a_, {nullptr, 0, out_ + 2, 1}));        // beside both
  HIP_OK(hipStreamSynchronize(a_));
  EXPECT_EQ(1u, out_[2]);
  EXPECT_EQ(0u, out_[0]);
  EXPECT_EQ(0u, out_[1]);
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(nullptr));
  set(gate_, 1);
  HIP_OK(hipStreamSynchronize(blocking));
  EXPECT_EQ(1u, out_[0]);
  EXPECT_EQ(1u, out_[1]);
  HIP_OK(hipStreamDestroy(blocking));
}

TEST_F(HostStream, DestroyedStreamStillFinishes) {
  hipStream_t gone = nullptr;
  HIP_OK(hipStreamCreate(&gone));
  HIP_OK(launch_wait(gone, {gate_, 1, out_, 7}));
  HIP_OK(hipStreamDestroy(gone));
  EXPECT_EQ(hipErrorContextIsDestroyed, hipStreamSynchronize(gone));
  EXPECT_EQ(hipErrorContextIsDestroyed, launch_wait(gone, {nullptr, 0, out_, 1}));
  EXPECT_EQ(0u, *out_);
  set(gate_, 1);
  HIP_OK(hipDeviceSynchronize());
  EXPECT_EQ(7u, *out_);
}

TEST_F(HostStream, EventOrdersStreamsOfTwoDevices) {
  hipEvent_t event = nullptr;
  hipStream_t far = nullptr;
  HIP_OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  HIP_OK(hipSetDevice(4));
  HIP_OK(hipStreamCreateWithFlags(&far, hipStreamNonBlocking));
  HIP_OK(hipSetDevice(0));
  HIP_OK(launch_wait(a_, {gate_, 1, out_, 5}));
  HIP_OK(hipEventRecord(event, a_));
  HIP_OK(hipStreamWaitEvent(far, event, 0));
  HIP_OK(hipMemcpyAsync(out_ + 1, out_, sizeof(uint64_t), hipMemcpyDefault, far));
  EXPECT_EQ(hipErrorNotReady, hipEventQuery(event));
  EXPECT_EQ(hipErrorInvalidHandle, hipEventRecord(event, far));  // an event belongs to its device
  set(gate_, 1);
  HIP_OK(hipEventSynchronize(event));
  HIP_OK(hipEventQuery(event));
  HIP_OK(hipStreamSynchronize(far));
  EXPECT_EQ(5u, out_[1]);
  HIP_OK(hipStreamDestroy(far));
  HIP_OK(hipEventDestroy(event));
  EXPECT_EQ(hipErrorInvalidHandle, hipEventQuery(event));
}

TEST_F(HostStream, EventTimes) {
  hipEvent_t start = nullptr, stop = nullptr, untimed = nullptr;
  float ms = -1;
  HIP_OK(hipEventCreate(&start));
  HIP_OK(hipEventCreate(&stop));
  HIP_OK(hipEventCreateWithFlags(&untimed, hipEventDisableTiming));
  HIP_OK(hipEventQuery(start));  // never recorded: nothing to wait for
  EXPECT_EQ(hipErrorInvalidHandle, hipEventElapsedTime(&ms, start, stop));
  HIP_OK(hipEventRecord(start, a_));
  HIP_OK(launch_wait(a_, {gate_, 1, nullptr, 0}));
  HIP_OK(hipEventRecord(stop, a_));
  HIP_OK(hipEventRecord(untimed, a_));
  EXPECT_EQ(hipErrorNotReady, hipEventElapsedTime(&ms, start, stop));
  HIP_OK(hipEventSynchronize(start));
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(5)) {
  }
  set(gate_, 1);
  HIP_OK(hipEventSynchronize(stop));
  HIP_OK(hipEventElapsedTime(&ms, start, stop));
  EXPECT_GE(ms, 5.0f);
  EXPECT_EQ(hipErrorInvalidHandle, hipEventElapsedTime(&ms, start, untimed));
  for (hipEvent_t e : {start, stop, untimed}) HIP_OK(hipEventDestroy(e));
}

// A host function that blocks stops neither kernels nor other host functions.
TEST_F(HostStream, HostFunctionsMayBlock) {
  std::atomic<int> step{0};
  const auto first = [](void* p) {
    auto* s = static_cast<std::atomic<int>*>(p);
    EXPECT_TRUE(eventually([s] { return s->load() == 2; }));
    s->store(3);
  };
  const auto second = [](void* p) { static_cast<std::atomic<int>*>(p)->store(1); };
  HIP_OK(hipLaunchHostFunc(a_, first, &step));
  HIP_OK(hipLaunchHostFunc(b_, second, &step));
  HIP_OK(launch_wait(b_, {nullptr, 0, out_, 1}));
  HIP_OK(hipStreamSynchronize(b_));
  EXPECT_EQ(1, step.exchange(2));
  HIP_OK(hipStreamSynchronize(a_));
  EXPECT_EQ(3, step.load());
}

TEST_F(HostStream, CallbackGetsItsStream) {
  struct Seen {
    hipStream_t stream = nullptr;
    hipError_t status = hipErrorUnknown;
  } seen;
  HIP_OK(hipStreamAddCallback(
      a_,
      [](hipStream_t s, hipError_t e, void* p) {
        *static_cast<Seen*>(p) = {s, e};
      },
      &seen, 0));
  HIP_OK(hipStreamSynchronize(a_));
  EXPECT_EQ(a_, seen.stream);
  EXPECT_EQ(hipSuccess, seen.status);
}

TEST_F(HostStream, WaitsForAndWritesValues) {
  auto* narrow = reinterpret_cast<uint32_t*>(out_ + 2);
  HIP_OK(hipStreamWaitValue64(a_, gate_, 1, hipStreamWaitValueEq));
  HIP_OK(hipStreamWriteValue64(a_, out_, 11, 0));
  HIP_OK(hipStreamWaitValue32(b_, narrow, 8, hipStreamWaitValueAnd));
  HIP_OK(hipStreamWriteValue32(b_, out_ + 1, 12, 0));
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(a_));
  HIP_OK(hipStreamWriteValue32(nullptr, narrow, 4, 0));
  HIP_OK(hipStreamSynchronize(nullptr));
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(b_));
  HIP_OK(hipStreamWriteValue32(nullptr, narrow, 12, 0));
  HIP_OK(hipStreamSynchronize(b_));
  set(gate_, 1);
  HIP_OK(hipStreamSynchronize(a_));
  EXPECT_EQ(11u, out_[0]);
  EXPECT_EQ(12u, out_[1]);
}

TEST_F(HostStream, PropertiesAndBadHandles) {
  int least = 0, greatest = 0, priority = 0;
  unsigned flags = 0;
  hipDevice_t device = -1;
  HIP_OK(hipDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_LT(greatest, least);
  hipStream_t s = nullptr;
  HIP_OK(hipSetDevice(2));
  HIP_OK(hipStreamCreateWithPriority(&s, hipStreamNonBlocking, -100));
  HIP_OK(hipSetDevice(0));
  HIP_OK(hipStreamGetPriority(s, &priority));
  EXPECT_EQ(greatest, priority);
  HIP_OK(hipStreamGetFlags(s, &flags));
  EXPECT_EQ(static_cast<unsigned>(hipStreamNonBlocking), flags);
  HIP_OK(hipStreamGetDevice(s, &device));
  EXPECT_EQ(2, device);
  HIP_OK(hipStreamDestroy(s));
  EXPECT_EQ(hipErrorInvalidHandle, hipStreamDestroy(nullptr));
  EXPECT_EQ(hipErrorContextIsDestroyed, hipStreamDestroy(s));
  EXPECT_EQ(hipErrorInvalidValue, hipStreamCreateWithFlags(&s, 0x10));
  EXPECT_EQ(hipErrorInvalidHandle, hipEventRecord(nullptr, a_));
  EXPECT_EQ(hipErrorInvalidHandle, hipStreamWaitEvent(a_, nullptr, 0));
}

TEST_F(HostStream, AddressesAreUsedAgainNumbersAreNot) {
  hipStream_t first = nullptr, second = nullptr;
  unsigned long long id = 0, next = 0;
  HIP_OK(hipStreamCreateWithPriority(&first, hipStreamNonBlocking, -1));
  HIP_OK(hipStreamGetId(first, &id));
  HIP_OK(hipStreamDestroy(first));
  HIP_OK(hipStreamCreate(&second));
  EXPECT_EQ(first, second);
  HIP_OK(hipStreamGetId(second, &next));
  EXPECT_NE(id, next);
  int priority = 1;
  HIP_OK(hipStreamGetPriority(second, &priority));  // nothing of the old one is left
  EXPECT_EQ(0, priority);
  HIP_OK(hipStreamDestroy(second));
}

TEST_F(HostStream, PerThreadStreamsAreTheThreadsOwn) {
  HIP_OK(launch_wait(hipStreamPerThread, {gate_, 1, nullptr, 0}));
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(hipStreamPerThread));
  std::thread([] { EXPECT_EQ(hipSuccess, hipStreamQuery(hipStreamPerThread)); }).join();
  set(gate_, 1);
  HIP_OK(hipStreamSynchronize(hipStreamPerThread));
}

}  // namespace
