// The life of a block on its worker: made, its lanes put on fibers, run, ended. The loop around it
// is worker.cc's; what follows the last block of an Op is scheduler.cc's.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "scheduler.h"
#include "worker.h"

namespace weft::hiphost {

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

void Worker::fiber_entry() {
  Worker* worker = this_worker();
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

void Worker::trim_pool(unsigned keep) {
  while (pooled_ > keep) {
    Fiber* gone = pool_;
    pool_ = gone->next;
    --pooled_;
    delete_fiber(gone);
  }
}

}  // namespace weft::hiphost
