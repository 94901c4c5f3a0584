// What a rank does about its own troubles, and what the others then know: launches that fail or
// stand still, devices that are lost, timeouts with operations before and behind them. The faults
// are the host runtime's (hip/hip_host.h).
#include <hip/hip_host.h>

#include <algorithm>
#include <future>

#include "../unit/scoped_log.h"
#include "communicator.h"
#include "failing_ranks.h"

namespace weft::test {
namespace {

class ScopedFault {
 public:
  ScopedFault(hipHostFault fault, int64_t value) : fault_(fault) { hipHostSetFault(fault, value); }
  ~ScopedFault() { end(); }
  ScopedFault(const ScopedFault&) = delete;
  ScopedFault& operator=(const ScopedFault&) = delete;
  void end() { hipHostSetFault(fault_, 0); }

 private:
  const hipHostFault fault_;
};

// Polls until the condition holds; false after a generous deadline.
bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

std::vector<char> bytes_of(const std::vector<float>& values) {
  const auto* first = reinterpret_cast<const char*>(values.data());
  return {first, first + values.size() * sizeof(float)};
}

// One rank's input, all elements `value`, and an output that starts with zeros.
struct Operands {
  Operands(int device, size_t count, float value) {
    const LocalRanks::OnDevice scope(device);
    input = std::make_unique<GuardedBuffer>(4 * count, 0);
    output = std::make_unique<GuardedBuffer>(4 * count, 0);
    input->write(bytes_of(std::vector<float>(count, value)));
    output->write(bytes_of(std::vector<float>(count, 0)));
  }
  ncclResult_t sum(const Ranks& ranks, int rank) const {
    return ncclAllReduce(input->data(), output->data(), input->bytes() / 4, ncclFloat32, ncclSum,
                         ranks.comm(rank), ranks.stream(rank));
  }
  float largest() const {
    std::vector<float> values(output->bytes() / 4);
    require_hip(hipMemcpy(values.data(), output->data(), output->bytes(), hipMemcpyDeviceToHost),
                "hipMemcpy");
    return *std::max_element(values.begin(), values.end());
  }
  std::unique_ptr<GuardedBuffer> input, output;
};

// A call stands still in the runtime's launch while another thread aborts its communicator: what
// the call still uses stays until it returns.
TEST(Faults, AbortDuringALaunchLeavesItItsCommunicator) {
  Ranks ranks(2);
  const ncclComm_t zero = ranks.take(0);
  const std::weak_ptr<Communicator> watched = communicator_of(zero, "test");
  const Operands operands(0, 1000, 1);
  const hipStream_t stream = ranks.stream(0);
  ScopedFault hold(hipHostFaultHoldLaunch, 1);
  auto call = std::async(std::launch::async, [&] {
    const LocalRanks::OnDevice scope(0);
    return ncclAllReduce(operands.input->data(), operands.output->data(), 1000, ncclFloat32,
                         ncclSum, zero, stream);
  });
  EXPECT_TRUE(eventually([] { return hipHostGetFault(hipHostFaultHoldLaunch) == 2; }));
  auto aborted = std::async(std::launch::async, [zero] { return ncclCommAbort(zero); });
  int count = 0;
  EXPECT_TRUE(eventually([&] { return ncclCommCount(zero, &count) == ncclInvalidArgument; }));
  // Long enough for an abort that does not wait; one that does cannot return before the call.
  EXPECT_EQ(aborted.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  EXPECT_FALSE(watched.expired());
  hold.end();
  (void)call.get();  // it may have come too late for an error
  EXPECT_EQ(aborted.get(), ncclSuccess);
}

// Rank 0 gives up an operation while the next one, with other data, is queued behind it. The
// counters of the two ranks no longer agree then, and rank 1 would take the data of the second for
// the data of the first.
TEST(Faults, NothingBehindATimeoutReachesAPeer) {
  const ScopedEnv limit("WEFT_TIMEOUT", "0.5"), algorithm("NCCL_ALGO", "Ring"),
      protocol("NCCL_PROTO", "Simple");
  constexpr size_t kCount = 5000;
  constexpr float kFirst = 1, kSecond = 1000;
  Ranks ranks(2);
  const Operands first(0, kCount, kFirst), second(0, kCount, kSecond), own(1, kCount, 0);
  require_ok(first.sum(ranks, 0), "the first operation");
  require_ok(second.sum(ranks, 0), "the second operation");
  require_hip(hipStreamSynchronize(ranks.stream(0)), "rank 0 gives up");
  require_ok(own.sum(ranks, 1), "the first operation of rank 1");
  require_hip(hipStreamSynchronize(ranks.stream(1)), "rank 1 gives up");
  EXPECT_LE(own.largest(), kFirst);
  EXPECT_EQ(second.largest(), 0);
  for (const int rank : {0, 1}) EXPECT_EQ(poll_async(ranks.comm(rank)), ncclRemoteError) << rank;
}

TEST(Faults, ALaunchThatFailsIsToldToAll) {
  Ranks ranks(3);
  require_ok(ranks.call(0, 1000), "rank 0");
  {
    const ScopedFault fault(hipHostFaultLaunch, 1);
    expect_error(ranks.call(1, 1000), ncclUnhandledCudaError, {"launching a kernel"});
  }
  require_ok(ranks.call(2, 1000), "rank 2");
  for (const int rank : {0, 1, 2}) {
    EXPECT_EQ(poll_async(ranks.comm(rank)), ncclRemoteError) << rank;
    expect_text(ncclGetLastError(ranks.comm(rank)), {"rank 1", "launching a kernel"});
  }
}

// In a ring of four, only the neighbours of the rank that differs can see it.
TEST(Faults, AMismatchThatSomeSeeIsToldToAll) {
  const ScopedEnv algorithm("NCCL_ALGO", "Ring");
  Ranks ranks(4);
  for (const int rank : {0, 1, 2, 3})
    require_ok(ranks.call(rank, rank == 1 ? 20'000 : 20'001), "ncclAllReduce");
  std::vector<ncclResult_t> states(4, ncclSuccess);
  EXPECT_TRUE(eventually([&] {
    for (int rank = 0; rank < 4; ++rank)
      require_ok(ncclCommGetAsyncError(ranks.comm(rank), &states[size_t(rank)]), "the state");
    return std::ranges::count(states, ncclSuccess) == 0;
  }));
  EXPECT_GT(std::ranges::count(states, ncclInvalidUsage), 0);
  for (int rank = 0; rank < 4; ++rank)
    expect_text(ncclGetLastError(ranks.comm(rank)), {"another call"});
}

// An operation of very many short waits, far longer than the limit of one.
TEST(Faults, ATimeoutIsOfOneWait) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr long kSlower = 5;  // a busy machine may hold up one wait for half a second
#else
  constexpr long kSlower = 1;
#endif
  constexpr long kLimitMs = 500 * kSlower;
  const ScopedEnv limit("WEFT_TIMEOUT", std::to_string(kLimitMs / 1000.0)),
      channels("NCCL_MAX_NCHANNELS", "1"), slices("NCCL_BUFFSIZE", "16384"),
      algorithm("NCCL_ALGO", "Ring"), protocol("NCCL_PROTO", "Simple");
  Ranks ranks(2);
  const ScopedFault slow(hipHostFaultSlowPolls, 12'000 * kSlower);
  const long took = milliseconds_of([&] {
    for (const int rank : {0, 1}) require_ok(ranks.call(rank, 260'000), "ncclAllReduce");
    ranks.synchronize();
  });
  EXPECT_GT(took, 2 * kLimitMs);  // else this test shows nothing
  for (const int rank : {0, 1})
    EXPECT_EQ(poll_async(ranks.comm(rank), ncclInProgress), ncclSuccess)
        << ncclGetLastError(ranks.comm(rank));
}

// Every call on the device fails: the communicator goes away all the same, and the others are free
// to go.
TEST(Faults, ALostDeviceCanBeClosed) {
  for (const bool by_abort : {false, true}) {
    SCOPED_TRACE(by_abort);
    Ranks ranks(2);
    for (const int rank : {0, 1}) require_ok(ranks.call(rank, 1000), "ncclAllReduce");
    ranks.synchronize();
    const ScopedFault lost(hipHostFaultLostDevice, 1 + 1);
    const ncclComm_t one = ranks.take(1);
    const long took = milliseconds_of([&] {
      EXPECT_EQ(by_abort ? ncclCommAbort(one) : ncclCommDestroy(one), ncclSuccess)
          << ncclGetLastError(nullptr);
    });
    EXPECT_LT(took, kSoonMs);
  }
}

}  // namespace
}  // namespace weft::test
