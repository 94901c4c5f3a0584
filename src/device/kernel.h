// The kernel of collectives: arguments, its place in the order of the communicator, channels, done.
// One per (protocol, type, op), chosen on the host (kernels.h). Next on the path: turn.h, engine.h.
#pragma once

#include "device/engine.h"
#include "device/turn.h"

namespace weft {

// Tells every peer which call this rank is in (invariant 4 of the design).
WEFT_DEV void announce(const Block& block, const DeviceComm& comm, uint32_t sequence,
                       uint32_t signature) {
  block.each(comm.size, [&](size_t peer) {
    char* outbox = comm.peers[peer].outbox;
    if (outbox == nullptr) return;
    BoxHeader* header = comm.box.header(outbox);
    platform::note64(&header->wire_version, comm.wire_version);
    platform::note64(&header->call, flag_word(sequence, signature));
  });
}

// With the scale that lies in the user's memory, as it is when the kernel runs.
template <class Type>
WEFT_DEV OpArg resolved(const OpArg& op) {
  OpArg all = op;
  if ((op.flags & OpArg::kPreFromMemory) != 0) {
    using Storage = typename Type::storage;
    all.pre = to_word(Type::load(load_word<Storage>(reinterpret_cast<const void*>(op.pre))));
  }
  return all;
}

template <class Protocol, class Type, class Op>
struct CollectiveKernel {
  static constexpr const char* kName = "weft_collective";

  WEFT_DEV void operator()(const Block& block, const CollectiveArgs& args) const {
    Waits waits = waits_of(block, args);
    const bool turn = wait_turn(block, args, waits);
    if (turn) run(block, args, waits);
    end_kernel(block, args, waits, turn);
  }

 private:
  WEFT_DEV void run(const Block& block, const CollectiveArgs& args, Waits& waits) const {
    const DeviceComm& comm = args.comm;
    const uint32_t begun = platform::poll32(&comm.words->sequence);
    if (block.index() == 0 && block.leader())
      platform::note32(&comm.words->started, comm.words->done + 1);
    WEFT_ROLLED
    for (uint32_t w = 0; w < args.works; ++w) {
      const Work& work = args.work[w];
      const OpArg op = resolved<Type>(work.op);
      waits.sequence = begun + w;
      if (block.index() == 0) announce(block, comm, begun + w + 1, work.signature);
      WEFT_ROLLED
      for (uint32_t channel = block.index(); channel < work.chunking.channels;
           channel += block.grid())
        if (!Channel<Protocol, Type, Op>(block, comm, work, op, waits, channel).run()) return;
    }
  }
};

}  // namespace weft
