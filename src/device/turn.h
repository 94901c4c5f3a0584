// The place of a kernel in the order of its communicator: its turn, and its end. Owns: tickets, the
// count of operations, the words that say what has ended. Next on the path: kernel.h or pairwise.h.
//
// Short operations are as fast as what comes before and after them: nothing here waits for an
// access to memory that could be under way beside another one.
#pragma once

#include "device/sync.h"

namespace weft {

WEFT_DEV bool is_last_lane(const Block& block) { return block.lane() + 1 == block.width(); }

// The block may be stopped already: the kernel before it on the communicator has not ended, when
// that ran on another stream. Then, and when a wait of the communicator has given up (reports_of),
// counters and slots no longer agree between ranks, and a kernel that was already queued must not
// touch them. The same when the communicator was closed and a graph of it is launched all the same.
//
// Block 0 counts a graph's kernel first. Blocks are started in ascending order, so whoever closes
// the communicator, and reads the counts some time after it has, sees every kernel that goes on.
WEFT_DEV Waits begin_kernel(const Block& block, const LaunchArgs& args) {
  DeviceWords* words = args.comm.words;
  Waits waits{block, args.comm.host, words, args.deadline_ns, static_cast<Fault*>(block.scratch()),
              0};
  if (args.has_ticket) {
    if (block.leader()) {
      wait_word(
          waits, &words->eager_left,
          {Fault::kEarlierKernel, uint32_t(args.comm.rank), 0, flag_word(args.ticket, 0), nullptr});
      platform::acquire_device();  // partner: end_kernel of the kernel before
    }
    block.sync();
  }
  if (is_last_lane(block) && !args.eager && block.index() == 0)
    platform::count_device32(&words->graph_begun, block.grid());
  return waits;
}

// Waits that gave up, and kClosed.
WEFT_DEV uint32_t reports_of(const LaunchArgs& args) {
  return platform::poll32(&args.comm.words->fault_reports);
}
WEFT_DEV void leave_if_any(uint32_t reports, const Waits& waits) {
  if (reports != 0)
    leave(waits, reports >= kClosed ? Fault::kClosed : Fault::kNone,
          {Fault::kEarlierKernel, 0, 0, 0, nullptr}, 0);
}

// Operations of the communicator before this kernel.
WEFT_DEV uint32_t operations_begun(const Block& block, const LaunchArgs& args) {
  return platform::poll32(&args.comm.words->sequence[block.index()]);
}

// Bookkeeping that keeps the first waves from nothing. f(i) for i < n, by lanes of one wave: what
// they store, a fence of one of them orders.
constexpr unsigned kWaveLanes = 32;  // the shortest wave
WEFT_DEV bool in_last_wave(const Block& block) {
  return block.lane() + kWaveLanes >= block.width();
}
template <class F>
WEFT_DEV void by_last_wave(const Block& block, int n, F f) {
  if (!in_last_wave(block)) return;
  const unsigned lanes = block.width() < kWaveLanes ? block.width() : kWaveLanes;
  const unsigned lane = block.width() - 1 - block.lane();
  WEFT_ROLLED
  for (int i = int(lane); i < n; i += int(lanes)) f(i);
}
WEFT_DEV void count_operations(const Block& block, const LaunchArgs& args, uint32_t begun) {
  const unsigned first_absent = block.index() == 0 ? block.grid() : kMaxChannels;
  by_last_wave(block, kMaxChannels, [&](int other) {
    if (unsigned(other) == block.index() || unsigned(other) >= first_absent)
      args.comm.words->sequence[other] = begun + args.works;
  });
}

// Whether this kernel began operations that it did not end.
WEFT_DEV bool gave_up(const Block& block, const Waits& waits) {
  return block.stopped() && waits.fault->kind != Fault::kNone &&
         waits.fault->kind != Fault::kClosed;
}

// A block that gave up tells all peers. They look before they use buffers of this rank, and now and
// then while they do; after that time the buffers are this rank's own again.
WEFT_DEV void withdraw(const Block& block, const LaunchArgs& args) {
  constexpr uint64_t kUntilPeersLookNs = 5'000'000;
  block.each(args.comm.size, [&](size_t peer) {
    char* outbox = args.comm.peers[peer].outbox;
    if (outbox != nullptr) platform::note64(&args.comm.box.header(outbox)->withdrawn, 1);
  });
  if (!args.lends || !block.leader()) return;
  const uint64_t began = platform::clock_ns();
  WEFT_ROLLED
  while (platform::clock_ns() - began < kUntilPeersLookNs) platform::poll_miss(args.comm.host);
}

// By one lane: the block has left.
WEFT_DEV void count_block(const LaunchArgs& args) {
  DeviceWords* words = args.comm.words;
  platform::count_device64(args.eager ? &words->eager_left : &words->graph_left, flag_word(1, 0));
}

WEFT_DEV void end_kernel(const Block& block, const LaunchArgs& args, const Waits& waits) {
  if (gave_up(block, waits)) withdraw(block, args);
  complete(block);
  if (!block.leader()) return;
  if (block.stopped() && waits.fault->kind != Fault::kNone)
    report_fault(*waits.fault, args.comm.host, args.comm.words);
  platform::release_device();  // partner: begin_kernel of a kernel on another stream
  count_block(args);
}

// Where the last lane has released what is to be seen, behind the last barrier: nothing is waited
// for.
WEFT_DEV void end_released_kernel(const Block& block, const LaunchArgs& args, const Waits& waits) {
  if (block.stopped()) {
    end_kernel(block, args, waits);
  } else if (is_last_lane(block)) {
    count_block(args);
  }
}

}  // namespace weft
