// A Bootstrap for tests whose ranks are threads of one process: no sockets, one shared board. Also
// counts the exchanges, so that a test can say that their number does not grow with the ranks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "bootstrap/bootstrap.h"
#include "error.h"

namespace weft::test {

// What the ranks share.
class ThreadBoard {
 public:
  explicit ThreadBoard(int size) : size_(size), parts_(size) {}

  int size() const { return size_; }

  std::vector<std::string> gather(int rank, const std::string& own) {
    std::unique_lock lock(mutex_);
    check_failed(rank);
    const uint64_t round = round_;
    parts_[rank] = own;
    if (++arrived_ == size_) {
      result_ = parts_;
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return result_;
    }
    wait(lock, rank, [&] { return round_ != round; });
    return result_;  // nobody can finish the next round before this rank has come to it
  }

  void post(int from, int to, uint32_t tag, std::span<const std::byte> message) {
    std::lock_guard lock(mutex_);
    boxes_[{from, to, tag}].emplace_back(message.begin(), message.end());
    changed_.notify_all();
  }

  std::vector<std::byte> take(int from, int to, uint32_t tag) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{from, to, tag}];
    wait(lock, to, [&] { return !box.empty(); });
    auto message = std::move(box.front());
    box.pop_front();
    return message;
  }

  bool try_take(int from, int to, uint32_t tag, std::vector<std::byte>& message) {
    std::lock_guard lock(mutex_);
    auto& box = boxes_[{from, to, tag}];
    if (box.empty()) return false;
    message = std::move(box.front());
    box.pop_front();
    return true;
  }

  void fail(int rank, const std::string& reason) {
    std::lock_guard lock(mutex_);
    if (failed_rank_ >= 0) return;
    failed_rank_ = rank;
    reason_ = reason;
    changed_.notify_all();
  }

  uint64_t rounds() {
    std::lock_guard lock(mutex_);
    return round_;
  }

 private:
  template <class Done>
  void wait(std::unique_lock<std::mutex>& lock, int rank, Done done) {
    constexpr std::chrono::seconds kLimit{60};
    const bool ended = changed_.wait_for(lock, kLimit, [&] { return done() || failed_rank_ >= 0; });
    if (ended && done()) return;
    check_failed(rank);
    throw Error(ncclSystemError, "the other ranks did not come within 60 s");
  }

  void check_failed(int rank) {
    if (failed_rank_ >= 0 && failed_rank_ != rank)
      throw Error(ncclRemoteError, "rank " + std::to_string(failed_rank_) + ": " + reason_);
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> parts_, result_;
  int arrived_ = 0;
  uint64_t round_ = 0;
  int failed_rank_ = -1;
  std::string reason_;
  std::map<std::tuple<int, int, uint32_t>, std::deque<std::vector<std::byte>>> boxes_;
};

class ThreadBootstrap : public Bootstrap {
 public:
  ThreadBootstrap(std::shared_ptr<ThreadBoard> board, int rank)
      : board_(std::move(board)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return board_->size(); }
  void all_gather(void* all, size_t bytes_each) override {
    auto* bytes = static_cast<char*>(all);
    const auto parts =
        board_->gather(rank_, std::string(bytes + size_t(rank_) * bytes_each, bytes_each));
    for (int r = 0; r < size(); ++r)
      std::memcpy(bytes + size_t(r) * bytes_each, parts[r].data(), bytes_each);
  }
  std::vector<std::string> all_gather_texts(const std::string& own) override {
    return board_->gather(rank_, own);
  }
  void barrier() override { (void)board_->gather(rank_, ""); }
  void send(int peer, uint32_t tag, std::span<const std::byte> message) override {
    board_->post(rank_, peer, tag, message);
  }
  std::vector<std::byte> receive(int peer, uint32_t tag) override {
    return board_->take(peer, rank_, tag);
  }
  bool try_receive(int peer, uint32_t tag, std::vector<std::byte>& message) override {
    return board_->try_take(peer, rank_, tag, message);
  }
  void fail(ncclResult_t, const std::string& reason) noexcept override {
    board_->fail(rank_, reason);
  }
  std::vector<PeerEvent> poll_events() override { return {}; }
  void close(std::chrono::milliseconds) noexcept override {}

 private:
  std::shared_ptr<ThreadBoard> board_;
  const int rank_;
};

}  // namespace weft::test
