// A worker: one thread that runs the fibers of many blocks in a ring and sleeps when a whole lap
// achieved nothing. Blocks come through its inbox from the scheduler and stay on it until they end.
#pragma once

#include <atomic>
#include <deque>
#include <vector>

#include "bell.h"
#include "fiber.h"
#include "op.h"

namespace weft::hiphost {

// Ended fibers that a worker keeps. A reused fiber would hide from TSAN that two blocks are not
// ordered, so there every block gets a new one.
inline constexpr unsigned kPooledFibers = sanitize::kThread ? 0 : 512;

// Blocks first, first + stride, ... of one Op: `count` of them.
struct BlockRange {
  OpRef op;
  unsigned first = 0, stride = 1, count = 1;
};

// A block that has been started. Lives on its worker.
struct Block {
  OpRef op;
  unsigned index = 0, lanes = 1, live = 1, arrived = 0;
  Fiber* parked = nullptr;  // lanes that arrived at the barrier
  bool exclusive = false;   // may use `__shared__` variables: hip_runtime.h
  char barrier_edge = 0;
  char* big_shared = nullptr;
  alignas(64) char shared[hipHostSharedBytes];
};

class Worker {
 public:
  Worker(int index, int spin_laps, size_t stack_bytes);
  void start();  // the thread, at the first work

  void post(BlockRange range);
  void ring() { seats_.ring_own(); }
  int index() const { return index_; }
  // Laps that achieved something, and fibers present: for the watchdog.
  uint64_t progress_count() const { return progress_count_.load(std::memory_order_relaxed); }
  unsigned fibers() const { return fiber_count_.load(std::memory_order_relaxed); }
  void request_report() {
    report_ = true;
    ring();
  }
  bool reported() const { return !report_; }
  const Fiber* running() const { return current_; }  // racy; for the watchdog's text
  void request_stop() {
    stop_ = true;
    ring();
  }
  bool stopped() const { return stopped_; }

  // Called on the worker's own fibers.
  bool on_fiber() const { return current_ != &main_; }
  Fiber& current() { return *current_; }
  void poll_miss(const volatile void* address);
  void poll_hit() {
    progress_ = true;
    current_->polled_count = 0;
  }
  void yield();  // lets others run; counts as progress
  void barrier();
  BellSlot& seat() { return seats_.own(); }

 private:
  static void fiber_entry();
  void run();
  bool take_inbox();
  bool start_blocks(bool force_one);
  bool start_block(const OpRef& op, unsigned index);
  bool start_lane(Block& block, unsigned lane);
  Block* new_block(const OpRef& op, unsigned index);
  void run_lane(Fiber& fiber);
  void end_lane(Fiber& fiber);
  void end_block(Block* block);
  void release_barrier(Block& block);
  void lap();
  void after_idle_lap();
  void sleep();
  void collect_polled();
  void park_forever();
  void report();
  Fiber* take_pooled();
  void trim_pool(unsigned keep);
  void link(Fiber& fiber);
  void unlink(Fiber& fiber);
  void switch_to(Fiber& to, bool ends = false);

  const int index_;
  const int spin_laps_;
  const size_t stack_bytes_;
  Seats seats_;
  bool started_ = false;

  Lock inbox_lock_;
  std::vector<BlockRange> inbox_;
  std::atomic<bool> inbox_full_{false};

  Fiber main_;
  Fiber* current_ = &main_;
  bool progress_ = false;
  int idle_laps_ = 0;
  std::deque<BlockRange> waiting_;
  unsigned exclusive_running_ = 0;
  Fiber* pool_ = nullptr;  // ended fibers, linked by next
  unsigned pooled_ = 0;
  char exclusive_edge_ = 0;  // TSAN token: exclusive blocks share `__shared__` variables
  std::vector<const volatile void*> polled_;

  std::atomic<uint64_t> progress_count_{0};
  std::atomic<unsigned> fiber_count_{0};
  std::atomic<bool> report_{false}, stop_{false}, stopped_{false};
};

// The worker of the calling thread, or null.
Worker* this_worker();

}  // namespace weft::hiphost
