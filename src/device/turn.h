// The place of a kernel in the order of its communicator: its turn, and its end. Owns: tickets, the
// count of operations, the words that say what has ended. Next on the path: kernel.h or pairwise.h.
//
// Short operations are as fast as what comes before and after them: nothing here waits for an
// access to memory that could be under way beside another one.
#pragma once

#include "device/sync.h"

namespace weft {

// The block may be stopped already: the kernel before it on the communicator has not ended, when
// that ran on another stream, or a wait of the communicator has given up. After one has, counters
// and slots no longer agree between ranks, and a kernel that was already queued must not touch
// them. The same when the communicator was closed and a graph of it is launched all the same. A
// barrier follows, after which stopped() is asked.
//
// Block 0 counts a graph's kernel before anything else. Blocks are started in ascending order, so
// whoever closes the communicator, and reads the counts after it has, sees every kernel of which a
// block goes on.
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
  if (block.lane() + 1 == block.width()) {
    if (!args.eager && block.index() == 0) words->graph_begun += block.grid();
    const uint32_t reports = platform::poll32(&words->fault_reports);
    if (reports != 0)
      leave(waits, reports >= kClosed ? Fault::kClosed : Fault::kNone,
            {Fault::kEarlierKernel, 0, 0, 0, nullptr}, 0);
  }
  waits.sequence = platform::poll32(&words->sequence[block.index()]);
  return waits;
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

// `begun`: operations before this kernel.
WEFT_DEV void end_kernel(const Block& block, const LaunchArgs& args, const Waits& waits,
                         uint32_t begun) {
  DeviceWords* words = args.comm.words;
  if (gave_up(block, waits)) withdraw(block, args);
  const uint32_t first_absent = block.index() == 0 ? block.grid() : kMaxChannels;
  block.each(kMaxChannels, [&](size_t other) {
    if (other == block.index() || other >= first_absent)
      words->sequence[other] = begun + args.works;
  });
  complete(block);
  if (!block.leader()) return;
  if (block.stopped() && waits.fault->kind != Fault::kNone)
    report_fault(*waits.fault, args.comm.host, words);
  platform::release_device();  // partner: begin_kernel of a kernel on another stream
  platform::count_device64(args.eager ? &words->eager_left : &words->graph_left, flag_word(1, 0));
}

}  // namespace weft
