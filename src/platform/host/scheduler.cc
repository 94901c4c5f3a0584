// Recording dependencies, dispatching what is ready, completing. Blocks of a kernel go to fixed
// workers: block b always meets block b of the other
// ranks' kernels on the same worker, so a ring of ranks passes its flags within one thread. Next on
// the path: worker.cc.
#include "scheduler.h"

#include <deque>
#include <mutex>

#include "config.h"
#include "faults.h"
#include "helpers.h"
#include "worker.h"

namespace weft::hiphost {
namespace {

struct Scheduler {
  Lock lock;
  std::vector<Worker*> workers;
  std::atomic<unsigned> next_worker{0};
  std::atomic<bool> stopped{false};
  // Blocks held back by hipHostFaultResidentBlocks, per device.
  struct Limited {
    unsigned resident = 0;
    std::deque<BlockRange> queue;
  };
  std::vector<Limited> limited;
};
Scheduler* scheduler = nullptr;

constexpr int64_t kLookAgainNs = 50000000;
constexpr int64_t kStopLimitNs = 200000000;

using Ready = std::vector<OpRef>;

Worker& worker_of_block(unsigned block) {
  return *scheduler->workers[block % scheduler->workers.size()];
}

// Posts as many held-back blocks as the fault allows.
void pump_limited(size_t device) {
  std::vector<BlockRange> go;
  {
    const std::lock_guard guard(scheduler->lock);
    Scheduler::Limited& limited = scheduler->limited[device];
    const int64_t limit = hipHostGetFault(hipHostFaultResidentBlocks);
    while (!limited.queue.empty() &&
           (limit == 0 || limited.resident < static_cast<uint64_t>(limit))) {
      BlockRange& range = limited.queue.front();
      go.push_back({range.op, range.first, 1, 1});
      ++limited.resident;
      ++range.first;
      if (--range.count == 0) limited.queue.pop_front();
    }
  }
  for (BlockRange& one : go) worker_of_block(one.first).post(one);
}

void dispatch_kernel(const OpRef& op) {
  const Launch& launch = *op->work.launch;
  op->blocks_left.store(launch.blocks, std::memory_order_relaxed);
  if (hipHostGetFault(hipHostFaultResidentBlocks) != 0) {
    op->limited = true;
    {
      const std::lock_guard guard(scheduler->lock);
      scheduler->limited[static_cast<size_t>(op->work.device)].queue.push_back(
          {op, 0, 1, launch.blocks});
    }
    pump_limited(static_cast<size_t>(op->work.device));
    return;
  }
  const auto count = static_cast<unsigned>(scheduler->workers.size());
  for (unsigned k = 0; k < count && k < launch.blocks; ++k) {
    worker_of_block(k).post({op, k, count, (launch.blocks - k + count - 1) / count});
  }
}

// Marks done, wakes host threads, and gives what became ready.
void complete(const OpRef& op, Ready& ready) {
  std::function<void()> body;  // what it holds goes after the lock is released
  std::vector<OpRef> after;
  const std::lock_guard guard(scheduler->lock);
  op->done_ns = now_ns();
  if (op->state.exchange(Op::kDone, std::memory_order_acq_rel) == Op::kAwaited) {
    futex_wake(op->state);
  }
  for (OpRef& next : op->successors) {
    if (--next->pending == 0) ready.push_back(std::move(next));
  }
  op->successors.clear();
  after.swap(op->after);
  body.swap(op->work.body);
}

void finish_body(const OpRef& op, Ready& ready) {
  op->begin();
  if (op->work.body) op->work.body();
  sanitize::release(&op->done_edge);
  complete(op, ready);
}

void run_ready(Ready ready);

void dispatch(const OpRef& op, Ready& ready) {
  switch (op->work.kind) {
    case Work::Kind::kNothing:
    case Work::Kind::kQuick:
      finish_body(op, ready);
      return;
    case Work::Kind::kKernel:
      dispatch_kernel(op);
      return;
    case Work::Kind::kFiber: {
      const unsigned turn = scheduler->next_worker.fetch_add(1, std::memory_order_relaxed);
      scheduler->workers[turn % scheduler->workers.size()]->post({op, 0, 1, 1});
      return;
    }
    case Work::Kind::kHost:
      run_on_helper([op] {
        Ready next;
        finish_body(op, next);
        run_ready(std::move(next));
      });
      return;
  }
}

void run_ready(Ready ready) {
  while (!ready.empty()) {
    Ready next;
    for (const OpRef& op : ready) dispatch(op, next);
    ready.swap(next);
  }
}

void add_edge(const OpRef& from, const OpRef& to) {
  if (from == nullptr) return;
  if constexpr (sanitize::kThread) to->after.push_back(from);
  if (from->done()) return;
  from->successors.push_back(to);
  ++to->pending;
}

}  // namespace

void start_scheduler(const Config& config) {
  scheduler = new Scheduler;
  scheduler->limited.resize(std::max<size_t>(config.visible.size(), 1));
  for (int i = 0; i < config.workers; ++i) {
    scheduler->workers.push_back(new Worker(i, config.spin_laps, config.stack_bytes));
  }
}

const std::vector<Worker*>& workers() { return scheduler->workers; }

OpRef submit(Work work, const std::vector<OpRef>& after) {
  auto op = std::make_shared<Op>(std::move(work));
  sanitize::release(&op->start_edge);
  bool ready = false;
  {
    const std::lock_guard guard(scheduler->lock);
    for (const OpRef& from : after) add_edge(from, op);
    ready = --op->pending == 0;
  }
  if (ready) run_ready({op});
  return op;
}

std::vector<OpRef> submit_together(std::vector<Entry> entries, const std::vector<OpRef>& heads) {
  std::vector<OpRef> ops;
  ops.reserve(entries.size());
  for (Entry& entry : entries) {
    ops.push_back(std::make_shared<Op>(std::move(entry.work)));
    sanitize::release(&ops.back()->start_edge);
  }
  Ready ready;
  {
    const std::lock_guard guard(scheduler->lock);
    for (size_t i = 0; i < ops.size(); ++i) {
      for (const size_t from : entries[i].edges) add_edge(ops[from], ops[i]);
      for (const OpRef& from : entries[i].after) add_edge(from, ops[i]);
      if (entries[i].edges.empty()) {
        for (const OpRef& head : heads) add_edge(head, ops[i]);
      }
      if (--ops[i]->pending == 0) ready.push_back(ops[i]);
    }
  }
  run_ready(std::move(ready));
  return ops;
}

bool check_done(const OpRef& op) {
  if (op == nullptr) return true;
  if (!op->done()) return false;
  sanitize::acquire(&op->done_edge);
  return true;
}

bool wait_for(const OpRef& op) {
  if (op == nullptr) return true;
  while (!op->done()) {
    if (scheduler->stopped) return false;
    uint32_t seen = Op::kPending;
    if (op->state.compare_exchange_strong(seen, Op::kAwaited) || seen == Op::kAwaited) {
      futex_wait(op->state, Op::kAwaited, kLookAgainNs);
    }
  }
  return check_done(op);
}

void block_ended(const OpRef& op) {
  const bool limited = op->limited;
  const auto device = static_cast<size_t>(op->work.device);
  if (limited) {
    {
      const std::lock_guard guard(scheduler->lock);
      --scheduler->limited[device].resident;
    }
    pump_limited(device);
  }
  if (op->blocks_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  sanitize::acquire(&op->done_edge);
  Ready ready;
  complete(op, ready);
  run_ready(std::move(ready));
}

void resident_limit_changed() {
  if (scheduler == nullptr) return;
  for (size_t device = 0; device < scheduler->limited.size(); ++device) pump_limited(device);
}

bool scheduler_stopped() { return scheduler != nullptr && scheduler->stopped; }

void stop_scheduler() {
  if (scheduler == nullptr || scheduler->stopped.exchange(true)) return;
  for (Worker* worker : scheduler->workers) worker->request_stop();
  const int64_t end = now_ns() + kStopLimitNs;
  for (Worker* worker : scheduler->workers) {
    while (worker->fibers() != 0 && !worker->stopped() && now_ns() < end) {
      const Word never{0};
      futex_wait(never, 0, kNsPerSecond / 1000);
    }
  }
}

}  // namespace weft::hiphost
