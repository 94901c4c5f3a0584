// The kernel: arguments, its place in the order of the communicator, channels, done. One per
// (protocol, type, op), chosen on the host (kernels.h). Owns: tickets, the header of a call, the
// started and done words. Next on the path: engine.h.
#pragma once

#include "device/engine.h"

namespace weft {

// Whether this kernel may run: the one before it on the communicator has ended, when it ran on
// another stream, and no wait of the communicator has given up. After one has, counters and slots
// no longer agree between ranks, and a kernel that was already queued must not touch them.
WEFT_DEV bool wait_turn(const Block& block, const KernelArgs& args, const Waits& waits) {
  if (block.leader()) {
    const DeviceWords* words = args.comm->words;
    const WaitSite site{Fault::kEarlierKernel, uint32_t(args.comm->rank), 0,
                        flag_word(args.ticket, 0)};
    uint64_t seen = 0;
    const auto ended = [&](uint64_t word) { return reached(flag_counter(word), args.ticket); };
    if (args.has_ticket && !wait_word(waits, &words->done_eager, site, ended, seen)) block.stop();
    platform::acquire_device();  // partner: end_kernel of the kernel before
    if (platform::poll32(&words->fault_reports) != 0) block.stop();
  }
  block.sync();
  return !block.stopped();
}

// Tells every peer which call this rank is in (invariant 4 of the design).
WEFT_DEV void announce(const Block& block, const DeviceComm& comm, uint32_t sequence,
                       uint32_t signature) {
  block.each(comm.size, [&](size_t peer) {
    if (comm.peers[peer].outbox == nullptr) return;
    BoxHeader* header = comm.box.header(comm.peers[peer].outbox);
    platform::note64(&header->wire_version, comm.wire_version);
    platform::note64(&header->call, flag_word(sequence, signature));
  });
}

// The last block to come here advances the words of the communicator. A kernel that lost its turn
// leaves them to the one that has it.
WEFT_DEV void end_kernel(const Block& block, const KernelArgs& args, bool had_turn) {
  DeviceWords* words = args.comm->words;
  complete(block);
  if (!block.leader()) return;
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

template <class Protocol, class Type, class Op>
struct CollectiveKernel {
  static constexpr const char* kName = "weft_collective";

  WEFT_DEV void operator()(const Block& block, const KernelArgs& args) const {
    Waits waits{args.comm->host, args.comm->words, args.deadline_ns, 0};
    const bool turn = wait_turn(block, args, waits);
    if (turn) run(block, args, waits);
    end_kernel(block, args, turn);
  }

 private:
  WEFT_DEV void run(const Block& block, const KernelArgs& args, Waits& waits) const {
    const DeviceComm& comm = *args.comm;
    const uint32_t begun = platform::poll32(&comm.words->sequence);
    if (block.index() == 0 && block.leader())
      platform::note32(&comm.words->started, comm.words->done + 1);
    for (uint32_t w = 0; w < args.works; ++w) {
      const Work& work = args.work[w];
      waits.sequence = begun + w;
      if (block.index() == 0) announce(block, comm, begun + w + 1, work.signature);
      for (uint32_t channel = block.index(); channel < work.chunking.channels;
           channel += block.grid())
        if (!run_channel<Protocol, Type, Op>(block, comm, work, waits, channel)) return;
    }
  }
};

}  // namespace weft
