// The loop of a worker and the pauses of its fibers. The worker's own stack is one member of the
// ring; a lap ends when it gets its turn. Sleep: after spin_laps laps without success it announces
// what its fibers poll, makes one more lap, and sleeps (bell.cc).
#include "worker.h"

#include <pthread.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "memory.h"
#include "scheduler.h"

namespace weft::hiphost {
namespace {

// A fiber may poll memory that nobody rings for (a store by code that does not know this runtime).
constexpr int64_t kBackstopNs = 50000000;
// The same for host memory that the program registered: another process may share it, whose stores
// cannot ring here.
constexpr int64_t kRegisteredBackstopNs = 200000;

thread_local Worker* worker_of_thread __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

Worker* this_worker() { return worker_of_thread; }

Worker::Worker(int index, int spin_laps, size_t stack_bytes)
    : index_(index), spin_laps_(spin_laps), stack_bytes_(stack_bytes), seats_(index) {
  main_.next = main_.previous = &main_;
}

void Worker::start() {
  if (started_) return;
  started_ = true;
  const sanitize::Ignore ignore;
  std::thread([this] { run(); }).detach();
}

void Worker::post(BlockRange range) {
  {
    const std::lock_guard guard(inbox_lock_);
    start();
    inbox_.push_back(std::move(range));
    inbox_full_.store(true, std::memory_order_release);
  }
  if (worker_of_thread != this) ring();
}

void Worker::run() {
  pthread_setname_np(pthread_self(), ("hiphost-" + std::to_string(index_)).c_str());
  worker_of_thread = this;
  adopt_thread(main_);
  while (true) {
    if (stop_) park_forever();
    if (report_) report();
    take_inbox();
    const bool started = start_blocks(false);
    progress_ = progress_ || started;
    if (main_.next != &main_) {
      lap();
    } else if (!started && waiting_.empty()) {
      sleep();
    }
  }
}

bool Worker::take_inbox() {
  if (!inbox_full_.load(std::memory_order_acquire)) return false;
  std::vector<BlockRange> taken;
  {
    const std::lock_guard guard(inbox_lock_);
    taken.swap(inbox_);
    inbox_full_.store(false, std::memory_order_relaxed);
  }
  for (BlockRange& range : taken) {  // higher priority (a lower number) first, else in order
    auto at = waiting_.end();
    while (at != waiting_.begin() && std::prev(at)->op->work.priority > range.op->work.priority) {
      --at;
    }
    waiting_.insert(at, std::move(range));
  }
  return true;
}

// Starts what may start; with `force_one` also one block that would otherwise wait for an exclusive
// one to end.
bool Worker::start_blocks(bool force_one) {
  bool any = false;
  for (size_t i = 0; i < waiting_.size();) {
    const OpRef op = waiting_[i].op;
    const bool exclusive =
        op->work.kind == Work::Kind::kKernel && op->work.launch->kernel->lanes == 0;
    if (exclusive && exclusive_running_ > 0 && !force_one) {
      ++i;
      continue;
    }
    BlockRange& range = waiting_[i];
    const unsigned index = range.first;
    range.first += range.stride;
    if (--range.count == 0) waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!start_block(op, index)) {
      waiting_.push_back({op, index, 1, 1});  // no memory for stacks: again when some have ended
      return any;
    }
    any = true;
    if (force_one) return true;
  }
  return any;
}

void Worker::link(Fiber& fiber) {  // last before the worker's own turn
  fiber.next = &main_;
  fiber.previous = main_.previous;
  main_.previous->next = &fiber;
  main_.previous = &fiber;
}

void Worker::unlink(Fiber& fiber) {
  fiber.previous->next = fiber.next;
  fiber.next->previous = fiber.previous;
}

void Worker::switch_to(Fiber& to, bool ends) {
  Fiber& from = *current_;
  current_ = &to;
  switch_fiber(from, to, ends);
}

void Worker::barrier() {
  Fiber& self = *current_;
  Block& block = *self.block;
  if (block.lanes == 1) return;
  sanitize::release(&block.barrier_edge);
  if (++block.arrived == block.live) {
    release_barrier(block);
  } else {
    Fiber& next = *self.next;
    unlink(self);
    self.next = block.parked;
    block.parked = &self;
    switch_to(next);
  }
  sanitize::acquire(&block.barrier_edge);
}

void Worker::release_barrier(Block& block) {
  block.arrived = 0;
  progress_ = true;
  for (Fiber* fiber = block.parked; fiber != nullptr;) {
    Fiber* next = fiber->next;
    link(*fiber);
    fiber = next;
  }
  block.parked = nullptr;
}

void Worker::poll_miss(const volatile void* address) {
  Fiber& self = *current_;
  unsigned i = 0;
  while (i < self.polled_count && self.polled[i] != address) ++i;
  if (i == self.polled_count && i < kPolledAddresses) self.polled[self.polled_count++] = address;
  switch_to(*self.next);
}

void Worker::yield() {
  progress_ = true;
  switch_to(*current_->next);
}

void Worker::lap() {
  if (progress_) {
    idle_laps_ = 0;
    progress_count_.store(progress_count_.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
  }
  progress_ = false;
  switch_to(*main_.next);
  if (!progress_ && !inbox_full_.load(std::memory_order_relaxed)) after_idle_lap();
}

void Worker::after_idle_lap() {
  if (!waiting_.empty() && start_blocks(true)) {
    progress_ = true;
    return;
  }
  if (++idle_laps_ < spin_laps_) {
    sched_yield();
    return;
  }
  sleep();
}

void Worker::collect_polled() {
  polled_.clear();
  for (Fiber* f = main_.next; f != &main_; f = f->next) {
    polled_.insert(polled_.end(), f->polled, f->polled + f->polled_count);
  }
}

void Worker::sleep() {
  if (main_.next == &main_) trim_pool(kPooledFibers);
  progress_ = false;  // else the end of the last fiber would keep this worker awake for ever
  collect_polled();
  seats_.announce(polled_);
  if (main_.next != &main_) switch_to(*main_.next);  // the last look
  const bool work = progress_ || stop_ || report_ || inbox_full_.load();
  if (!work) {
    int64_t limit = polled_.empty() ? kForeverNs : kBackstopNs;
    if (main_.next != &main_ && polled_.empty()) limit = kBackstopNs;
    if (any_registered(polled_)) limit = kRegisteredBackstopNs;
    // A backstop that finds nothing leads to the next sleep after one lap.
    idle_laps_ = seats_.wait(limit) ? 0 : spin_laps_;
  }
  seats_.withdraw();
}

void Worker::park_forever() {
  stopped_ = true;
  const Word never{0};
  while (true) futex_wait(never, 0, kForeverNs);
}

void Worker::report() {
  for (Fiber* f = main_.next; f != &main_; f = f->next) {
    const Op& op = *f->block->op;
    const char* name =
        op.work.kind == Work::Kind::kKernel ? op.work.launch->kernel->name : "stream operation";
    fprintf(stderr, "hiphost: %s, device %d, block %u of %u, lane %u of %u waits for", name,
            f->lane.device, f->lane.block, f->lane.grid, f->lane.lane, f->lane.lanes);
    for (unsigned i = 0; i < f->polled_count; ++i) {
      fprintf(stderr, "%s %s", i == 0 ? "" : " or", describe_address(f->polled[i]).c_str());
    }
    fprintf(stderr, "%s\n", f->polled_count == 0 ? " its next turn" : "");
  }
  report_ = false;
}

}  // namespace weft::hiphost
