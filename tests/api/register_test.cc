// Registered memory and windows: what is taken, what is refused, on how many ranks.
#include <set>

#include "../support/expect_error.h"
#include "../support/local_ranks.h"
#include "communicator.h"

namespace weft::test {
namespace {

TEST(Register, AnyDeviceMemory) {
  const LocalRanks ranks(2);
  const GuardedBuffer memory(4096, 0);
  char* inside = static_cast<char*>(memory.data()) + 3;
  std::set<void*> handles;
  for (int i = 0; i < 3; ++i) {  // the same again is another registration
    void* handle = nullptr;
    ASSERT_EQ(ncclCommRegister(ranks.comm(0), inside, 100, &handle), ncclSuccess)
        << ncclGetLastError(nullptr);
    EXPECT_NE(handle, nullptr);
    EXPECT_TRUE(handles.insert(handle).second);
  }
  const auto comm = communicator_of(ranks.comm(0), "test");
  const auto at = reinterpret_cast<uintptr_t>(inside);
  EXPECT_TRUE(comm->registrations.find(at + 99, 1));
  EXPECT_FALSE(comm->registrations.find(at + 99, 2));
  for (void* handle : handles) EXPECT_EQ(ncclCommDeregister(ranks.comm(0), handle), ncclSuccess);
  EXPECT_FALSE(comm->registrations.find(at, 1));
}

TEST(Register, NothingIsNothing) {
  const LocalRanks ranks(1);
  int marker = 0;
  void* handle = &marker;
  EXPECT_EQ(ncclCommRegister(ranks.comm(0), nullptr, 0, &handle), ncclSuccess);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(ncclCommDeregister(ranks.comm(0), nullptr), ncclSuccess);
}

TEST(Register, BadCalls) {
  const LocalRanks ranks(2);
  const GuardedBuffer memory(64, 0);
  std::vector<char> on_host(64);
  int marker = 0;
  void* handle = &marker;
  void* pinned = nullptr;
  require_hip(hipHostMalloc(&pinned, 64, 0), "hipHostMalloc");
  expect_error(ncclCommRegister(ranks.comm(0), on_host.data(), 64, &handle), ncclInvalidArgument,
               {"ncclCommRegister", "only device memory"});
  expect_error(ncclCommRegister(ranks.comm(0), pinned, 64, &handle), ncclInvalidArgument,
               {"host memory", "only device memory"});
  expect_error(ncclCommRegister(ranks.comm(0), nullptr, 64, &handle), ncclInvalidArgument,
               {"buff is NULL"});
  expect_error(ncclCommRegister(ranks.comm(0), memory.data(), 64, nullptr), ncclInvalidArgument,
               {"handle is NULL"});
  expect_error(ncclCommRegister(ranks.comm(0), memory.data(), SIZE_MAX, &handle),
               ncclInvalidArgument, {"size is " + std::to_string(SIZE_MAX)});
  expect_error(ncclCommRegister(nullptr, memory.data(), 64, &handle), ncclInvalidArgument,
               {"NULL"});
  EXPECT_EQ(handle, &marker);
  require_hip(hipHostFree(pinned), "hipHostFree");
}

TEST(Register, HandlesAreChecked) {
  const LocalRanks ranks(2);
  const GuardedBuffer memory(64, 0);
  void* handle = nullptr;
  require_ok(ncclCommRegister(ranks.comm(0), memory.data(), 64, &handle), "ncclCommRegister");
  expect_error(ncclCommDeregister(ranks.comm(1), handle), ncclInvalidArgument,
               {"ncclCommDeregister", "no registration"});
  expect_error(ncclCommDeregister(ranks.comm(0), &handle), ncclInvalidArgument,
               {"no registration"});
  EXPECT_EQ(ncclCommDeregister(ranks.comm(0), handle), ncclSuccess);
  expect_error(ncclCommDeregister(ranks.comm(0), handle), ncclInvalidArgument, {"taken back"});
  expect_error(ncclCommDeregister(nullptr, handle), ncclInvalidArgument, {"NULL"});
}

constexpr int kWindowRanks = 3;

class Windows : public testing::Test {
 protected:
  Windows() {
    for (int rank = 0; rank < kWindowRanks; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      require_ok(ncclMemAlloc(&memory_[rank], kBytes), "ncclMemAlloc");
      call_[rank] = {memory_[rank], kBytes, &window_[rank], NCCL_WIN_DEFAULT};
    }
  }
  ~Windows() override {
    for (void* memory : memory_) EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
  }
  struct Call {
    void* base;
    size_t bytes;
    ncclWindow_t* out;
    int flags;
  };
  char* at(int rank, size_t offset) { return static_cast<char*>(memory_[rank]) + offset; }

  // All ranks on threads; what they returned.
  void run(ncclResult_t want, const std::vector<std::string>& parts) {
    on_threads(kWindowRanks, [&](int rank) {
      const Call& call = call_[rank];
      const ncclResult_t code =
          ncclCommWindowRegister(ranks_.comm(rank), call.base, call.bytes, call.out, call.flags);
      EXPECT_EQ(code, want) << rank << ": " << ncclGetLastError(nullptr);
      if (code != ncclSuccess) {
        expect_text(ncclGetLastError(nullptr), {"ncclCommWindowRegister"});
        expect_text(ncclGetLastError(nullptr), parts);
      }
    });
  }

  static constexpr size_t kBytes = 64 << 10;
  LocalRanks ranks_{kWindowRanks};
  void* memory_[kWindowRanks] = {};
  ncclWindow_t window_[kWindowRanks] = {};
  Call call_[kWindowRanks] = {};
};

TEST_F(Windows, OfEqualBuffers) {
  for (const int flags : {NCCL_WIN_DEFAULT, NCCL_WIN_COLL_SYMMETRIC}) {
    for (Call& call : call_) call.flags = flags;
    run(ncclSuccess, {});
    for (int rank = 0; rank < kWindowRanks; ++rank) {
      const auto comm = communicator_of(ranks_.comm(rank), "test");
      const auto window = comm->windows.find(window_[rank]);
      ASSERT_NE(window, nullptr);
      EXPECT_EQ(window->base, memory_[rank]);
      EXPECT_EQ(window->symmetric, flags == NCCL_WIN_COLL_SYMMETRIC);
      ASSERT_EQ(window->parts.size(), size_t(kWindowRanks));
      for (const Window::Part& part : window->parts) {
        EXPECT_EQ(part.bytes, kBytes);
        EXPECT_EQ(part.offset, 0u);
      }
    }
    for (int rank = 0; rank < kWindowRanks; ++rank)
      EXPECT_EQ(ncclCommWindowDeregister(ranks_.comm(rank), window_[rank]), ncclSuccess);
  }
}

// One thread for all ranks: the calls of a group happen at its end.
TEST_F(Windows, InAGroup) {
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < kWindowRanks; ++rank) {
    require_ok(ncclCommWindowRegister(ranks_.comm(rank), memory_[rank], kBytes, &window_[rank], 0),
               "ncclCommWindowRegister");
    EXPECT_EQ(window_[rank], nullptr);
  }
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  for (int rank = 0; rank < kWindowRanks; ++rank) {
    EXPECT_NE(window_[rank], nullptr);
    EXPECT_EQ(ncclCommWindowDeregister(ranks_.comm(rank), window_[rank]), ncclSuccess);
  }
}

TEST_F(Windows, OfDifferentSizesUnlessSymmetric) {
  call_[1].bytes = 4096;
  call_[2].base = at(2, 8192);
  call_[2].bytes = 0;
  run(ncclSuccess, {});
  const auto window = communicator_of(ranks_.comm(0), "test")->windows.find(window_[0]);
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(window->parts[1].bytes, 4096u);
  for (Call& call : call_) call.flags = NCCL_WIN_COLL_SYMMETRIC;
  call_[2].bytes = kBytes - 8192;
  run(ncclInvalidUsage, {"sizes", "rank 1 has 4096"});
  call_[0].bytes = call_[1].bytes = kBytes - 8192;
  run(ncclInvalidUsage, {"offsets", "rank 2 has 8192"});
  call_[0].base = at(0, 8192), call_[1].base = at(1, 8192);
  run(ncclSuccess, {});
}

TEST_F(Windows, OfNothing) {
  for (Call& call : call_) call.bytes = 0;
  int marker = 0;
  for (ncclWindow_t& window : window_) window = reinterpret_cast<ncclWindow_t>(&marker);
  run(ncclSuccess, {});
  for (const ncclWindow_t window : window_) EXPECT_EQ(window, nullptr);
}

// What one rank cannot do is an error of all, and the next call is as if nothing had been.
TEST_F(Windows, WhatOneRankCannotDo) {
  const Call good = call_[1];
  const auto with = [&](auto change, const std::vector<std::string>& parts) {
    call_[1] = good;
    change(call_[1]);
    run(ncclInvalidArgument, parts);
    call_[1] = good;
  };
  std::vector<char> on_host(8192);
  const auto aligned = (reinterpret_cast<uintptr_t>(on_host.data()) + 4095) / 4096 * 4096;
  with([&](Call& call) { call.base = nullptr; }, {"rank 1", "buff is NULL"});
  with([&](Call& call) { call.out = nullptr; }, {"rank 1", "win is NULL"});
  with([&](Call& call) { call.flags = 64; }, {"rank 1", "winFlags is 0x40"});
  with([&](Call& call) { call.base = at(1, 16); }, {"rank 1", "not aligned to 4096"});
  with([&](Call& call) { call.base = reinterpret_cast<void*>(aligned); }, {"rank 1", "device 1"});
  with([&](Call& call) { call.base = memory_[0]; }, {"rank 1", "device 1"});
  with([&](Call& call) { call.bytes = kBytes + 1; }, {"rank 1", "ends after"});
  with([&](Call& call) { call.base = at(1, 4096); }, {"rank 1", "ends after"});
  for (const ncclWindow_t window : window_) EXPECT_EQ(window, nullptr);
  call_[2].flags = NCCL_WIN_COLL_SYMMETRIC;
  run(ncclInvalidUsage, {"flags differ", "rank 2 has 1"});
  call_[2].flags = 0;
  run(ncclSuccess, {});
  for (int rank = 0; rank < kWindowRanks; ++rank)
    EXPECT_EQ(poll_async(ranks_.comm(rank), ncclInProgress), ncclSuccess);
}

TEST_F(Windows, HandlesAreChecked) {
  run(ncclSuccess, {});
  expect_error(ncclCommWindowDeregister(ranks_.comm(1), window_[0]), ncclInvalidArgument,
               {"ncclCommWindowDeregister", "no window"});
  EXPECT_EQ(ncclCommWindowDeregister(ranks_.comm(0), window_[0]), ncclSuccess);
  expect_error(ncclCommWindowDeregister(ranks_.comm(0), window_[0]), ncclInvalidArgument,
               {"taken back"});
  EXPECT_EQ(ncclCommWindowDeregister(ranks_.comm(0), nullptr), ncclSuccess);
  expect_error(ncclCommWindowDeregister(nullptr, nullptr), ncclInvalidArgument, {"NULL"});
  expect_error(ncclCommWindowRegister(nullptr, memory_[0], kBytes, &window_[0], 0),
               ncclInvalidArgument, {"NULL"});
}

}  // namespace
}  // namespace weft::test
