// The loop of a worker and the pauses of its fibers. The worker's own stack is one member of the
// ring; a lap ends when it gets its turn. Sleep: after spin_laps laps without success it announces
// what its fibers poll, makes one more lap, and sleeps (bell.cc).
#include "worker.h"

#include <pthread.h>

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
// A reused fiber would hide from TSAN that two blocks are not ordered, so there every block gets a
// new one.
constexpr unsigned kPooledFibers = sanitize::kThread ? 0 : 512;

thread_local Worker* worker_of_thread __attribute__((tls_model("initial-exec"))) = nullptr;

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

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

Block* Worker::new_block(const OpRef& op, unsigned index) {
  const sanitize::Ignore ignore;  // zeroing the shared memory is no access of the program
  auto* block = new Block;
  block->op = op;
  block->index = index;
  memset(block->shared, 0, sizeof block->shared);
  const Launch* launch = op->work.launch.get();
  if (op->work.kind != Work::Kind::kKernel) return block;
  block->lanes = block->live = launch->lanes;
  block->exclusive = launch->kernel->lanes == 0;
  if (launch->shared_bytes > sizeof block->shared) {
    block->big_shared = static_cast<char*>(calloc(1, launch->shared_bytes));
  }
  return block;
}

bool Worker::start_block(const OpRef& op, unsigned index) {
  Block* block = new_block(op, index);
  if (block->exclusive) ++exclusive_running_;
  const unsigned lanes = block->lanes;  // the block may be gone when its last lane returns here
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (start_lane(*block, lane)) continue;
    if (lane == 0) {
      if (block->exclusive) --exclusive_running_;
      delete block;
      return false;
    }
    fprintf(stderr, "hiphost: no memory for the stacks of a block of %u threads\n", lanes);
    abort();
  }
  return true;
}

Fiber* Worker::take_pooled() {
  if constexpr (sanitize::kThread) trim_pool(0);
  if (pool_ == nullptr) return new_fiber(stack_bytes_, &fiber_entry);
  Fiber* fiber = pool_;
  pool_ = fiber->next;
  --pooled_;
  rewind_fiber(*fiber, &fiber_entry);
  return fiber;
}

bool Worker::start_lane(Block& block, unsigned lane) {
  Fiber* fiber = take_pooled();
  if (fiber == nullptr) return false;
  fiber->block = &block;
  hipHostLane& l = fiber->lane;
  l = {};
  l.block = block.index;
  l.lane = lane;
  l.lanes = block.lanes;
  l.grid = 1;
  l.device = block.op->work.device;
  l.shared = block.big_shared != nullptr ? block.big_shared : block.shared;
  if (const Launch* launch = block.op->work.launch.get()) {
    const dim3 g = launch->grid, b = launch->block;
    l.grid = launch->blocks;
    l.block_dim = b.x * b.y * b.z;
    const unsigned thread_idx[3] = {lane % b.x, lane / b.x % b.y, lane / (b.x * b.y)};
    const unsigned block_idx[3] = {block.index % g.x, block.index / g.x % g.y,
                                   block.index / (g.x * g.y)};
    const unsigned sizes[3] = {b.x, b.y, b.z}, grids[3] = {g.x, g.y, g.z};
    memcpy(l.thread_idx, thread_idx, sizeof thread_idx);
    memcpy(l.block_idx, block_idx, sizeof block_idx);
    memcpy(l.block_size, sizes, sizeof sizes);
    memcpy(l.grid_size, grids, sizeof grids);
  }
  fiber_count_.fetch_add(1, std::memory_order_relaxed);
  link(*fiber);
  switch_to(*fiber);
  return true;
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

void Worker::fiber_entry() {
  Worker* worker = worker_of_thread;
  Fiber& self = *worker->current_;
  entered_fiber(self);
  worker->run_lane(self);
  worker->end_lane(self);
  abort();  // an ended fiber is never switched to
}

void Worker::run_lane(Fiber& fiber) {
  Op& op = *fiber.block->op;
  op.begin();
  const bool exclusive = fiber.block->exclusive;
  if (exclusive) sanitize::acquire(&exclusive_edge_);
  try {
    if (op.work.kind == Work::Kind::kKernel) {
      op.work.launch->kernel->run(op.work.launch->arguments.get());
    } else {
      op.work.body();
    }
  } catch (...) {
    fprintf(stderr, "hiphost: an exception left a kernel\n");
    abort();
  }
  if (exclusive) sanitize::release(&exclusive_edge_);
  sanitize::release(&op.done_edge);
}

void Worker::end_lane(Fiber& fiber) {
  Block* block = fiber.block;
  progress_ = true;
  fiber_count_.fetch_sub(1, std::memory_order_relaxed);
  if (--block->live == 0) {
    end_block(block);
  } else if (block->arrived == block->live) {
    release_barrier(*block);  // a thread that returned does not hold up a barrier
  }
  Fiber& next = *fiber.next;
  unlink(fiber);
  fiber.next = pool_;
  pool_ = &fiber;
  ++pooled_;
  switch_to(next, true);
}

void Worker::end_block(Block* block) {
  const OpRef op = std::move(block->op);
  if (block->exclusive) --exclusive_running_;
  {
    const sanitize::Ignore ignore;
    free(block->big_shared);
    delete block;
  }
  block_ended(op);
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
    pause_core();
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

void Worker::trim_pool(unsigned keep) {
  while (pooled_ > keep) {
    Fiber* gone = pool_;
    pool_ = gone->next;
    --pooled_;
    delete_fiber(gone);
  }
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
