// Ranks of one process that get into trouble: one buffer each, aborted at the end, and soon.
#pragma once

#include <memory>
#include <utility>

#include "../support/expect_error.h"
#include "../support/local_ranks.h"

namespace weft::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr long kSoonMs = 5000;  // they are slow, and starting a thread is slowest
#else
inline constexpr long kSoonMs = 1000;
#endif

class Ranks : public LocalRanks {
 public:
  explicit Ranks(int size) : LocalRanks(size) {
    for (int rank = 0; rank < size; ++rank) {
      const OnDevice scope(rank);
      buffers_.push_back(std::make_unique<GuardedBuffer>(1 << 20, 0));
    }
  }
  ~Ranks() { abort_all(); }

  ncclResult_t call(int rank, size_t count, ncclDataType_t type = ncclFloat32,
                    ncclRedOp_t op = ncclSum) {
    void* data = buffers_[size_t(rank)]->data();
    return ncclAllReduce(data, data, count, type, op, comm(rank), stream(rank));
  }
  void abort_all() {
    for (int rank = 0; rank < size(); ++rank) {
      const ncclComm_t comm = take(rank);
      EXPECT_LT(milliseconds_of([&] { EXPECT_EQ(ncclCommAbort(comm), ncclSuccess); }), kSoonMs);
    }
    synchronize();  // the kernels have left
  }

 private:
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
};

// The first rank to have an asynchronous error, and its code.
inline std::pair<int, ncclResult_t> first_async(const Ranks& ranks) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    for (int rank = 0; rank < ranks.size(); ++rank) {
      ncclResult_t state = ncclSuccess;
      require_ok(ncclCommGetAsyncError(ranks.comm(rank), &state), "ncclCommGetAsyncError");
      if (state != ncclSuccess) return {rank, state};
    }
    std::this_thread::yield();
  }
  return {-1, ncclSuccess};
}

}  // namespace weft::test
