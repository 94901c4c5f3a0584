// Communicators of one process: one rank on each device, made by one call or by one thread a rank.
#pragma once

#include <gtest/gtest.h>
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <functional>
#include <thread>
#include <vector>

#include "guarded_buffer.h"

namespace weft::test {

inline void require_ok(ncclResult_t code, const char* what) {
  if (code != ncclSuccess)
    throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(code) + ": " +
                             ncclGetLastError(nullptr));
}

// Runs body(rank) on one thread a rank; an exception fails the test.
inline void on_threads(int ranks, const std::function<void(int rank)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        require_hip(hipSetDevice(rank), "hipSetDevice");
        body(rank);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

class LocalRanks {
 public:
  enum How { kOneCall, kThreads };

  explicit LocalRanks(int size, How how = kOneCall) : comms_(size_t(size)), streams_(size_t(size)) {
    if (how == kOneCall) {
      require_ok(ncclCommInitAll(comms_.data(), size, nullptr), "ncclCommInitAll");
    } else {
      ncclUniqueId id;
      require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
      on_threads(size, [&](int rank) {
        require_ok(ncclCommInitRank(&comms_[size_t(rank)], size, id, rank), "ncclCommInitRank");
      });
    }
    for (int rank = 0; rank < size; ++rank) {
      const OnDevice scope(rank);
      require_hip(hipStreamCreateWithFlags(&streams_[size_t(rank)], hipStreamNonBlocking),
                  "hipStreamCreate");
    }
  }
  ~LocalRanks() {
    for (hipStream_t stream : streams_) (void)hipStreamDestroy(stream);
    for (ncclComm_t comm : comms_) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);  // also of null
  }
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  // The calling thread's device, for one scope.
  class OnDevice {
   public:
    explicit OnDevice(int device) {
      require_hip(hipGetDevice(&before_), "hipGetDevice");
      require_hip(hipSetDevice(device), "hipSetDevice");
    }
    ~OnDevice() { (void)hipSetDevice(before_); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

   private:
    int before_ = 0;
  };

  int size() const { return int(comms_.size()); }
  ncclComm_t comm(int rank) const { return comms_[size_t(rank)]; }
  // The test destroys or aborts this one itself.
  ncclComm_t take(int rank) { return std::exchange(comms_[size_t(rank)], nullptr); }
  hipStream_t stream(int rank) const { return streams_[size_t(rank)]; }

  void synchronize() const {
    for (hipStream_t stream : streams_)
      require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
  }

 private:
  std::vector<ncclComm_t> comms_;
  std::vector<hipStream_t> streams_;
};

}  // namespace weft::test
