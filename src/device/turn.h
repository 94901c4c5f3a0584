// The place of a kernel in the order of its communicator: its turn, and its end. Owns: tickets, the
// started and done words. Next on the path: kernel.h or pairwise.h.
#pragma once

#include "device/sync.h"

namespace weft {

// What this kernel's waits share. The fault lies at the start of the block's scratch.
WEFT_DEV Waits waits_of(const Block& block, const LaunchArgs& args) {
  return {block,
          args.comm.host,
          args.comm.words,
          args.deadline_ns,
          static_cast<Fault*>(block.scratch()),
          0};
}

// Whether this kernel may run: the one before it on the communicator has ended, when it ran on
// another stream, and no wait of the communicator has given up. After one has, counters and slots
// no longer agree between ranks, and a kernel that was already queued must not touch them.
WEFT_DEV bool wait_turn(const Block& block, const LaunchArgs& args, const Waits& waits) {
  if (block.leader()) {
    const DeviceWords* words = args.comm.words;
    if (args.has_ticket)  // partner: end_kernel of the kernel before
      wait_word(
          waits, &words->done_eager,
          {Fault::kEarlierKernel, uint32_t(args.comm.rank), 0, flag_word(args.ticket, 0), nullptr});
    platform::acquire_device();
    if (platform::poll32(&words->fault_reports) != 0)
      leave(waits, Fault::kNone, {Fault::kEarlierKernel, 0, 0, 0, nullptr}, 0);
  }
  block.sync();
  return !block.stopped();
}

// The last block to come here advances the words of the communicator. A kernel that lost its turn
// leaves them to the one that has it.
WEFT_DEV void end_kernel(const Block& block, const LaunchArgs& args, const Waits& waits,
                         bool had_turn) {
  DeviceWords* words = args.comm.words;
  complete(block);
  if (!block.leader()) return;
  if (block.stopped() && waits.fault->kind != Fault::kNone)
    report_fault(*waits.fault, args.comm.host, words);
  platform::release_device();
  if (args.eager) platform::add_device32(&words->blocks_left, 1);
  if (!had_turn) return;
  if (platform::add_device32(&words->blocks_ended, 1) + 1 != block.grid()) return;
  platform::acquire_device();
  words->blocks_ended = 0;
  words->sequence += args.works;
  words->done += 1;
  if (!args.eager) return;
  platform::release_device();  // partner: wait_turn
  platform::post64(&words->done_eager, flag_word(flag_counter(words->done_eager) + 1, 0));
}

}  // namespace weft
