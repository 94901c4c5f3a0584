// Capture and graphs of the host runtime: what is recorded, HIP's errors for what is forbidden,
// fork and join, replay, event nodes that reach outside, user objects.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "host_runtime.h"

namespace {

using host_runtime::eventually;
using host_runtime::launch_wait;
using host_runtime::new_word;
using host_runtime::set;

void add_up(const void* p) {
  uint64_t* word = *static_cast<uint64_t* const*>(p);
  __atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
}
const hipHostKernel kAddUp = {hipHostKernelMagic, "add_up", &add_up, sizeof(void*), 1};

hipError_t launch_add(hipStream_t stream, uint64_t* word) {
  void* args[] = {&word};
  return hipLaunchKernel(&kAddUp, dim3(1), dim3(1), args, 0, stream);
}

class HostCapture : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hipSuccess, hipSetDevice(0));
    ASSERT_EQ(hipSuccess, hipStreamCreateWithFlags(&a_, hipStreamNonBlocking));
    ASSERT_EQ(hipSuccess, hipStreamCreateWithFlags(&b_, hipStreamNonBlocking));
    ASSERT_EQ(hipSuccess, hipEventCreateWithFlags(&fork_, hipEventDisableTiming));
    ASSERT_EQ(hipSuccess, hipEventCreateWithFlags(&join_, hipEventDisableTiming));
    word_ = new_word();
    gate_ = new_word();
  }
  void TearDown() override {
    set(gate_, 1);
    EXPECT_EQ(hipSuccess, hipStreamDestroy(a_));
    EXPECT_EQ(hipSuccess, hipStreamDestroy(b_));
    EXPECT_EQ(hipSuccess, hipDeviceSynchronize());
    EXPECT_EQ(hipSuccess, hipEventDestroy(fork_));
    EXPECT_EQ(hipSuccess, hipEventDestroy(join_));
    EXPECT_EQ(hipSuccess, hipFree(word_));
    EXPECT_EQ(hipSuccess, hipFree(gate_));
    (void)hipGetLastError();
  }
  hipStreamCaptureStatus status(hipStream_t s) {
    hipStreamCaptureStatus st = hipStreamCaptureStatusNone;
    EXPECT_EQ(hipSuccess, hipStreamIsCapturing(s, &st));
    return st;
  }
  // Ends a capture that must turn out invalid.
  void expect_invalidated() {
    EXPECT_EQ(hipStreamCaptureStatusInvalidated, status(a_));
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(a_, &graph));
    EXPECT_EQ(nullptr, graph);
    EXPECT_EQ(hipStreamCaptureStatusNone, status(a_));
  }

  hipStream_t a_ = nullptr, b_ = nullptr;
  hipEvent_t fork_ = nullptr, join_ = nullptr;
  uint64_t *word_ = nullptr, *gate_ = nullptr;
};

TEST_F(HostCapture, RecordsAndReplays) {
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  std::atomic<int> calls{0};
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeGlobal));
  EXPECT_EQ(hipStreamCaptureStatusActive, status(a_));
  HIP_OK(launch_add(a_, word_));
  HIP_OK(hipMemcpyAsync(word_ + 1, word_, sizeof(uint64_t), hipMemcpyDefault, a_));
  HIP_OK(hipMemsetAsync(word_ + 2, 0xff, sizeof(uint64_t), a_));
  HIP_OK(hipLaunchHostFunc(
      a_, [](void* p) { ++*static_cast<std::atomic<int>*>(p); }, &calls));
  HIP_OK(hipStreamEndCapture(a_, &graph));
  EXPECT_EQ(0u, *word_);
  size_t count = 0;
  HIP_OK(hipGraphGetNodes(graph, nullptr, &count));
  ASSERT_EQ(4u, count);
  std::vector<hipGraphNode_t> nodes(count);
  HIP_OK(hipGraphGetNodes(graph, nodes.data(), &count));
  const hipGraphNodeType types[] = {hipGraphNodeTypeKernel, hipGraphNodeTypeMemcpy,
                                    hipGraphNodeTypeMemset, hipGraphNodeTypeHost};
  for (size_t i = 0; i < count; ++i) {
    hipGraphNodeType type;
    HIP_OK(hipGraphNodeGetType(nodes[i], &type));
    EXPECT_EQ(types[i], type);
  }
  HIP_OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP_OK(hipGraphDestroy(graph));
  for (int i = 0; i < 20; ++i) HIP_OK(hipGraphLaunch(exec, a_));
  HIP_OK(hipStreamSynchronize(a_));
  EXPECT_EQ(20u, word_[0]);
  EXPECT_EQ(20u, word_[1]);
  EXPECT_EQ(~uint64_t{0}, word_[2]);
  EXPECT_EQ(20, calls.load());
  HIP_OK(hipGraphExecDestroy(exec));
  EXPECT_EQ(hipErrorInvalidValue, hipGraphLaunch(exec, a_));
  EXPECT_EQ(hipErrorInvalidValue, hipGraphDestroy(graph));
}

// The launch follows the stream and the stream follows the launch; two launches of one exec do not
// overlap.
TEST_F(HostCapture, LaunchIsOrderedInItsStream) {
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  HIP_OK(launch_add(a_, word_));
  HIP_OK(hipStreamEndCapture(a_, &graph));
  HIP_OK(hipGraphInstantiateWithFlags(&exec, graph, 0));
  HIP_OK(launch_wait(a_, {gate_, 1, nullptr, 0}));
  HIP_OK(hipGraphLaunch(exec, a_));
  const auto look = [](void* p) {  // atomically: the second launch may run meanwhile
    auto* word = static_cast<uint64_t*>(p);
    word[1] = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  };
  HIP_OK(hipLaunchHostFunc(a_, look, word_));
  HIP_OK(hipGraphLaunch(exec, b_));  // another stream, the same exec: after the first
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(b_));
  EXPECT_EQ(0u, word_[0]);
  HIP_OK(hipGraphExecDestroy(exec));  // while it runs
  HIP_OK(hipGraphDestroy(graph));
  set(gate_, 1);
  HIP_OK(hipStreamSynchronize(a_));
  HIP_OK(hipStreamSynchronize(b_));
  EXPECT_GE(word_[1], 1u);
  EXPECT_EQ(2u, word_[0]);
}

TEST_F(HostCapture, ForksAndJoinsThroughEvents) {
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeGlobal));
  HIP_OK(launch_add(a_, word_));
  HIP_OK(hipEventRecord(fork_, a_));
  HIP_OK(hipStreamWaitEvent(b_, fork_, 0));
  unsigned long long id_a = 0, id_b = 1;
  hipStreamCaptureStatus st;
  HIP_OK(hipStreamGetCaptureInfo(a_, &st, &id_a));
  HIP_OK(hipStreamGetCaptureInfo(b_, &st, &id_b));
  EXPECT_EQ(hipStreamCaptureStatusActive, st);
  EXPECT_EQ(id_a, id_b);
  HIP_OK(launch_add(b_, word_ + 1));
  HIP_OK(launch_add(a_, word_ + 2));
  HIP_OK(hipEventRecord(join_, b_));
  HIP_OK(hipStreamWaitEvent(a_, join_, 0));
  HIP_OK(launch_add(a_, word_ + 3));
  EXPECT_EQ(hipErrorStreamCaptureUnmatched, [&] {
    hipGraph_t none = nullptr;
    return hipStreamEndCapture(b_, &none);
  }());
  // Unmatched makes the capture invalid, so do the whole again.
  EXPECT_EQ(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(a_, &graph));
  EXPECT_EQ(hipStreamCaptureStatusNone, status(b_));

  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeGlobal));
  HIP_OK(launch_add(a_, word_));
  HIP_OK(hipEventRecord(fork_, a_));
  HIP_OK(hipStreamWaitEvent(b_, fork_, 0));
  HIP_OK(launch_add(b_, word_ + 1));
  HIP_OK(launch_add(a_, word_ + 2));
  HIP_OK(hipEventRecord(join_, b_));
  HIP_OK(hipStreamWaitEvent(a_, join_, 0));
  HIP_OK(launch_add(a_, word_ + 3));
  HIP_OK(hipStreamEndCapture(a_, &graph));
  size_t roots = 0, edges = 0;
  HIP_OK(hipGraphGetRootNodes(graph, nullptr, &roots));
  HIP_OK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT_EQ(1u, roots);
  EXPECT_EQ(4u, edges);
  HIP_OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP_OK(hipGraphLaunch(exec, nullptr));
  HIP_OK(hipDeviceSynchronize());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(1u, word_[i]);
  HIP_OK(hipGraphExecDestroy(exec));
  HIP_OK(hipGraphDestroy(graph));
}

TEST_F(HostCapture, UnjoinedStreamIsAnError) {
  hipGraph_t graph = nullptr;
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeGlobal));
  HIP_OK(launch_add(a_, word_));
  HIP_OK(hipEventRecord(fork_, a_));
  HIP_OK(hipStreamWaitEvent(b_, fork_, 0));
  HIP_OK(launch_add(b_, word_));
  EXPECT_EQ(hipErrorStreamCaptureUnjoined, hipStreamEndCapture(a_, &graph));
  EXPECT_EQ(nullptr, graph);
  EXPECT_EQ(hipStreamCaptureStatusNone, status(b_));
}

TEST_F(HostCapture, UnsafeCallsInvalidateAGlobalCapture) {
  void* p = nullptr;
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeGlobal));
  EXPECT_EQ(hipErrorStreamCaptureUnsupported, hipMalloc(&p, 64));
  expect_invalidated();
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeGlobal));
  std::thread([&] {
    EXPECT_EQ(hipErrorStreamCaptureUnsupported, hipMemcpy(word_, word_ + 1, 8, hipMemcpyDefault));
  }).join();
  expect_invalidated();
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeGlobal));
  EXPECT_EQ(hipErrorStreamCaptureUnsupported, hipStreamSynchronize(a_));
  expect_invalidated();
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeGlobal));
  EXPECT_EQ(hipErrorStreamCaptureUnsupported, hipDeviceSynchronize());
  expect_invalidated();
}

TEST_F(HostCapture, ModesDecideWhoMayAllocate) {
  void* p = nullptr;
  hipGraph_t graph = nullptr;
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeThreadLocal));
  std::thread([&] {  // another thread may
    EXPECT_EQ(hipSuccess, hipMalloc(&p, 64));
    EXPECT_EQ(hipSuccess, hipFree(p));
  })
      .join();
  EXPECT_EQ(hipStreamCaptureStatusActive, status(a_));
  std::thread([&] {
    EXPECT_EQ(hipErrorStreamCaptureWrongThread, hipStreamEndCapture(a_, &graph));
  }).join();
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  HIP_OK(hipThreadExchangeStreamCaptureMode(&mode));  // this thread may too, now
  EXPECT_EQ(hipStreamCaptureModeGlobal, mode);
  HIP_OK(hipMalloc(&p, 64));
  HIP_OK(hipFree(p));
  HIP_OK(hipThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(hipStreamCaptureModeRelaxed, mode);
  EXPECT_EQ(hipErrorStreamCaptureUnsupported, hipMalloc(&p, 64));
  expect_invalidated();

  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  HIP_OK(hipMalloc(&p, 64));
  HIP_OK(hipFree(p));
  std::thread([&] { EXPECT_EQ(hipSuccess, hipStreamEndCapture(a_, &graph)); }).join();
  HIP_OK(hipGraphDestroy(graph));
}

TEST_F(HostCapture, EventsFromOutsideAndCapturedOnes) {
  HIP_OK(hipEventRecord(fork_, b_));
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  EXPECT_EQ(hipErrorStreamCaptureIsolation, hipStreamWaitEvent(a_, fork_, 0));
  expect_invalidated();

  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  HIP_OK(hipEventRecord(join_, a_));
  EXPECT_EQ(hipErrorCapturedEvent, hipEventQuery(join_));
  expect_invalidated();

  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  HIP_OK(hipStreamBeginCapture(b_, hipStreamCaptureModeRelaxed));
  HIP_OK(hipEventRecord(join_, b_));
  EXPECT_EQ(hipErrorStreamCaptureMerge, hipStreamWaitEvent(a_, join_, 0));
  expect_invalidated();
  hipGraph_t graph = nullptr;
  EXPECT_EQ(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(b_, &graph));
}

TEST_F(HostCapture, NullStreamAndWrongStates) {
  hipGraph_t graph = nullptr;
  EXPECT_EQ(hipErrorStreamCaptureUnsupported,
            hipStreamBeginCapture(nullptr, hipStreamCaptureModeRelaxed));
  EXPECT_EQ(hipErrorIllegalState, hipStreamEndCapture(a_, &graph));
  EXPECT_EQ(hipErrorInvalidValue, hipStreamBeginCapture(a_, static_cast<hipStreamCaptureMode>(7)));
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  EXPECT_EQ(hipErrorIllegalState, hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  HIP_OK(launch_add(nullptr, word_));  // a_ does not block the null stream
  HIP_OK(hipStreamEndCapture(a_, &graph));
  HIP_OK(hipGraphDestroy(graph));
  hipStream_t blocking = nullptr;
  HIP_OK(hipStreamCreate(&blocking));
  HIP_OK(hipStreamBeginCapture(blocking, hipStreamCaptureModeRelaxed));
  EXPECT_EQ(hipErrorStreamCaptureImplicit, launch_add(nullptr, word_));
  EXPECT_EQ(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(blocking, &graph));
  HIP_OK(hipStreamBeginCapture(blocking, hipStreamCaptureModeRelaxed));
  HIP_OK(hipStreamDestroy(blocking));  // ends the capture
  HIP_OK(launch_add(nullptr, word_));
  HIP_OK(hipDeviceSynchronize());
}

TEST_F(HostCapture, DependenciesCanBeReplaced) {
  hipGraph_t graph = nullptr, ended = nullptr;
  hipStreamCaptureStatus st;
  unsigned long long id = 0;
  const hipGraphNode_t* tail = nullptr;
  size_t count = 7;
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  HIP_OK(hipStreamGetCaptureInfo_v2(a_, &st, &id, &graph, &tail, &count));
  EXPECT_EQ(0u, count);
  HIP_OK(launch_add(a_, word_));
  HIP_OK(hipStreamGetCaptureInfo_v2(a_, &st, &id, &graph, &tail, &count));
  ASSERT_EQ(1u, count);
  // A node beside the stream's order, made the only thing that follows.
  hipGraphNode_t added = nullptr;
  hipHostNodeParams params{[](void*) {}, nullptr};
  HIP_OK(hipGraphAddHostNode(&added, graph, tail, 1, &params));
  HIP_OK(hipStreamUpdateCaptureDependencies(a_, &added, 1, hipStreamSetCaptureDependencies));
  HIP_OK(launch_add(a_, word_ + 1));
  HIP_OK(hipStreamEndCapture(a_, &ended));
  EXPECT_EQ(graph, ended);
  size_t nodes = 0, edges = 0;
  HIP_OK(hipGraphGetNodes(ended, nullptr, &nodes));
  HIP_OK(hipGraphGetEdges(ended, nullptr, nullptr, &edges));
  EXPECT_EQ(3u, nodes);
  EXPECT_EQ(2u, edges);
  HIP_OK(hipGraphDestroy(ended));
}

// An external record becomes a node that records for the world; an external wait waits for the
// record that is last at launch.
TEST_F(HostCapture, ExternalEventNodes) {
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  HIP_OK(hipStreamWaitEvent(a_, fork_, hipEventWaitExternal));
  HIP_OK(launch_add(a_, word_));
  HIP_OK(hipEventRecordWithFlags(join_, a_, hipEventRecordExternal));
  HIP_OK(hipStreamEndCapture(a_, &graph));
  HIP_OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP_OK(launch_wait(b_, {gate_, 1, nullptr, 0}));
  HIP_OK(hipEventRecord(fork_, b_));
  HIP_OK(hipGraphLaunch(exec, a_));
  EXPECT_EQ(hipErrorNotReady, hipEventQuery(join_));
  EXPECT_EQ(0u, *word_);
  set(gate_, 1);
  HIP_OK(hipEventSynchronize(join_));
  EXPECT_EQ(1u, *word_);
  HIP_OK(hipGraphExecDestroy(exec));
  HIP_OK(hipGraphDestroy(graph));
}

TEST_F(HostCapture, GraphsBuiltByHandAndChildren) {
  hipGraph_t inner = nullptr, outer = nullptr;
  hipGraphExec_t exec = nullptr;
  hipGraphNode_t kernel = nullptr, copy = nullptr, fill = nullptr, child = nullptr, empty = nullptr;
  HIP_OK(hipGraphCreate(&inner, 0));
  HIP_OK(hipGraphCreate(&outer, 0));
  uint64_t* word = word_;
  void* args[] = {&word};
  hipKernelNodeParams kp{};
  kp.func = const_cast<hipHostKernel*>(&kAddUp);
  kp.gridDim = dim3(3);
  kp.blockDim = dim3(1);
  kp.kernelParams = args;
  HIP_OK(hipGraphAddKernelNode(&kernel, inner, nullptr, 0, &kp));
  HIP_OK(hipGraphAddMemcpyNode1D(&copy, inner, &kernel, 1, word_ + 1, word_, 8, hipMemcpyDefault));
  hipMemsetParams mp{};
  mp.dst = word_;
  mp.elementSize = 4;
  mp.height = 1;
  mp.width = 2;
  mp.value = 0;
  HIP_OK(hipGraphAddMemsetNode(&fill, outer, nullptr, 0, &mp));
  HIP_OK(hipGraphAddChildGraphNode(&child, outer, &fill, 1, inner));
  HIP_OK(hipGraphAddEmptyNode(&empty, outer, nullptr, 0));
  HIP_OK(hipGraphAddDependencies(outer, &child, &empty, 1));
  EXPECT_EQ(hipErrorInvalidValue, hipGraphAddEmptyNode(&empty, outer, &kernel, 1));
  HIP_OK(hipGraphInstantiate(&exec, outer, nullptr, nullptr, 0));
  *word_ = 99;
  HIP_OK(hipGraphLaunch(exec, a_));
  HIP_OK(hipStreamSynchronize(a_));
  EXPECT_EQ(3u, word_[0]);
  EXPECT_EQ(3u, word_[1]);
  HIP_OK(hipGraphExecDestroy(exec));
  HIP_OK(hipGraphDestroy(outer));
  HIP_OK(hipGraphDestroy(inner));
}

TEST_F(HostCapture, EdgesMayBeMovedWhileCapturing) {
  hipGraph_t graph = nullptr;
  const hipGraphNode_t* tail = nullptr;
  size_t count = 0;
  hipStreamCaptureStatus state;
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  HIP_OK(launch_add(a_, word_));
  HIP_OK(hipStreamGetCaptureInfo_v2(a_, &state, nullptr, &graph, &tail, &count));
  const hipGraphNode_t first = tail[0];
  hipGraphNode_t last = nullptr;
  HIP_OK(hipGraphAddEmptyNode(&last, graph, &first, 1));
  HIP_OK(launch_add(a_, word_));
  HIP_OK(hipStreamGetCaptureInfo_v2(a_, &state, nullptr, &graph, &tail, &count));
  const hipGraphNode_t second = tail[0];
  EXPECT_EQ(hipErrorInvalidValue, hipGraphRemoveDependencies(graph, &second, &last, 1));
  HIP_OK(hipGraphRemoveDependencies(graph, &first, &last, 1));
  HIP_OK(hipGraphAddDependencies(graph, &second, &last, 1));  // which stands before it
  EXPECT_EQ(hipErrorNotSupported, hipGraphAddDependencies(graph, &last, &first, 1));  // a circle
  HIP_OK(hipStreamEndCapture(a_, &graph));
  size_t edges = 0;
  HIP_OK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT_EQ(2u, edges);
  HIP_OK(hipGraphDestroy(graph));
}

TEST_F(HostCapture, UserObjectsLiveAsLongAsTheirGraphs) {
  std::atomic<int> destroyed{0};
  hipUserObject_t object = nullptr;
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  const auto destroy = [](void* p) { ++*static_cast<std::atomic<int>*>(p); };
  EXPECT_EQ(hipErrorInvalidValue, hipUserObjectCreate(&object, &destroyed, destroy, 1, 0));
  HIP_OK(hipUserObjectCreate(&object, &destroyed, destroy, 1, hipUserObjectNoDestructorSync));
  HIP_OK(hipStreamBeginCapture(a_, hipStreamCaptureModeRelaxed));
  HIP_OK(launch_wait(a_, {gate_, 1, nullptr, 0}));
  HIP_OK(hipStreamEndCapture(a_, &graph));
  HIP_OK(hipGraphRetainUserObject(graph, object, 1, hipGraphUserObjectMove));
  HIP_OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP_OK(hipGraphDestroy(graph));
  EXPECT_EQ(0, destroyed.load());  // the executable graph holds it
  HIP_OK(hipGraphLaunch(exec, a_));
  HIP_OK(hipGraphExecDestroy(exec));
  EXPECT_EQ(0, destroyed.load());  // its execution holds it
  set(gate_, 1);
  HIP_OK(hipStreamSynchronize(a_));
  EXPECT_TRUE(eventually([&] { return destroyed.load() == 1; }));
  EXPECT_EQ(hipErrorInvalidValue, hipUserObjectRelease(object, 1));
  HIP_OK(hipUserObjectCreate(&object, &destroyed, destroy, 2, hipUserObjectNoDestructorSync));
  HIP_OK(hipUserObjectRetain(object, 1));
  HIP_OK(hipUserObjectRelease(object, 2));
  EXPECT_EQ(1, destroyed.load());
  HIP_OK(hipUserObjectRelease(object, 1));
  EXPECT_EQ(2, destroyed.load());
}

}  // namespace
