// All-reduce in one shot over LL, the smallest operations: what engine.h does with the steps of
// OneShotAllReduce (algorithms/patterns/direct.h), written out. Here time is the number of
// instructions: on two H200 the engine took 3.2 of 5.4 us between two lines of 8 bytes
// (docs/performance.md). Owns: the order of gives and takes. Slots, flags, waits and sweeps are
// those of lines.h.
#pragma once

#include "device/ll.h"

namespace weft {

// One channel of one operation, which is an exchange (lines.h) and has no bias.
template <class Type, class Op>
class OneShot {
 public:
  using Element = Type;

  WEFT_DEV OneShot(const Block& block, const DeviceComm& comm, const Work& work, const OpArg& op,
                   const Waits& waits, uint32_t channel)
      : block_(block),
        work_(work),
        op_(op),
        self_(comm.rank),
        size_(comm.size),
        channel_(channel),
        protocol_(block, comm, waits, work, channel) {}

  // False: a wait gave up and the block leaves.
  WEFT_DEV bool run() {
    if (block_.stopped()) return false;
    const Packs share = work_.chunking.share(channel_ - work_.first_channel);
    WEFT_ROLLED
    for (uint32_t index = 0; index < work_.chunking.loops; ++index) {
      exchange(work_.chunking.chunk(work_.chunking.loop(share, index), 0), index == 0);
      if (!protocol_.end_loop(index)) return false;
    }
    return protocol_.save();
  }

 private:
  // Peers are told which call this is behind the first lines: nobody waits for that.
  WEFT_DEV void exchange(const Range& range, bool first) {
    using Storage = typename Type::storage;
    const auto input =
        Input<Type>::of(static_cast<const Storage*>(work_.input) + range.first, range.count);
    const auto output =
        Output<Type>::of(static_cast<Storage*>(work_.output) + range.first, range.count);
    protocol_.each_pack(input.packs(), 0, [&](size_t i) { give(i, own(input, i)); });
    if (first && channel_ == 0) protocol_.announce();
    protocol_.each_pack(input.packs(), 0, [&](size_t i) { output.store(i, fold(input, i)); });
    Step step;
    step.counts_sent = step.counts_received = true;
    protocol_.end_step(step);
  }

  WEFT_DEV Pack<Type> own(const Input<Type>& input, size_t i) const {
    return pre<Op>(input.load(i), op_);
  }
  WEFT_DEV void give(size_t i, const Pack<Type>& pack) {
    WEFT_ROLLED
    for (int peer = 0; peer < size_; ++peer)
      if (peer != self_) protocol_.put(protocol_.target(peer), i, pack);
  }
  // In the order of ranks, rounded once.
  WEFT_DEV Pack<Type> fold(const Input<Type>& input, size_t i) {
    Partial<Type> sum{};
    WEFT_ROLLED
    for (int rank = 0; rank < size_; ++rank) {
      const Pack<Type> next =
          rank == self_ ? own(input, i) : protocol_.template get<Type>(protocol_.source(rank), i);
      sum = rank == 0 ? unpack(next) : combine<Op>(sum, unpack(next), op_);
    }
    return repack(post<Op>(sum, op_));
  }

  const Block& block_;
  const Work& work_;
  const OpArg& op_;
  const int self_, size_;
  const uint32_t channel_;
  Ll protocol_;
};

}  // namespace weft
