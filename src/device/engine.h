// The engine: one loop that runs any pattern over any protocol. For every loop of a channel and
// every hop: take the pattern's step, wait, move, post. Owns: the order of loops, hops, peers
// and slices. Next on the path: a protocol (simple.h, ll.h) and move.h.
#pragma once

#include "device/move.h"

namespace weft {

// One channel of one operation.
template <class Protocol, class Type, class Op>
class Channel {
 public:
  WEFT_DEV Channel(const Block& block, const DeviceComm& comm, const Work& work, const OpArg& op,
                   const Waits& waits, uint32_t channel)
      : block_(block),
        comm_(comm),
        work_(work),
        op_(op),
        at_{comm.rank, comm.size},
        channel_(channel),
        hops_(work.hops),
        table_(work.steps + channel % 2 * work.hops),
        steps_(take_steps(static_cast<Step*>(scratch_at(block, steps_at(comm.size))), 0)),
        protocol_(block, comm, waits, work, channel) {}

  // False: a wait gave up and the block leaves.
  WEFT_DEV bool run() {
    if (block_.stopped()) return false;
    if (channel_ == 0) protocol_.announce();
    WEFT_ROLLED
    for (int part = asks() ? kCards : kBody; part <= last_part(); ++part)
      if (!run_part(part)) return false;
    return protocol_.save();
  }

 private:
  // Cards and the end are parts of an operation whose ranks ask each other for their buffers.
  enum Part { kCards, kBody, kEnd };
  WEFT_DEV bool asks() const { return Protocol::kMaps && work_.mapped.steps != nullptr; }
  WEFT_DEV int last_part() const { return protocol_.mapped() ? kEnd : kBody; }

  WEFT_DEV bool run_part(int part) {
    if (asks()) change_steps(part);
    const uint32_t loops = part == kBody ? work_.chunking.loops : 1;
    WEFT_ROLLED
    for (uint32_t index = 0; index < loops; ++index) {
      const Packs loop =
          work_.chunking.loop(work_.chunking.share(channel_ - work_.first_channel), index);
      WEFT_ROLLED
      for (int hop = 0; hop < hops_; ++hop) {
        if (hop % kStepsAhead == 0 && hops_ > kStepsAhead) {
          block_.sync();
          take_steps(steps_, hop);
          block_.sync();
        }
        const Step& step = steps_[hop % kStepsAhead];
        const int turns = step.by_peer ? at_.n : 1;
        WEFT_ROLLED
        for (int turn = 0; turn < turns; ++turn)
          if (!run_step(loop, step.by_peer ? turn_of(step, turn) : step)) return false;
        protocol_.end_hop(step);
        if (block_.leader())
          platform::note32(&comm_.words->stage[channel_], index * hops_ + hop + 1);
      }
      if (!protocol_.end_loop(index)) return false;
    }
    return true;
  }

  WEFT_DEV void change_steps(int part) {
    const bool staged = part == kBody && !protocol_.mapped();
    const int first = part == kCards ? 0 : kCardHops + (part == kEnd ? work_.mapped.hops : 0);
    hops_ = part != kBody ? kCardHops : (staged ? work_.hops : work_.mapped.hops);
    table_ = staged ? work_.steps + channel_ % 2 * work_.hops : work_.mapped.steps + first;
    block_.sync();
    take_steps(steps_, 0);
    block_.sync();
  }

  // A barrier follows: at first, that of the protocol's own loads.
  WEFT_DEV Step* take_steps(Step* steps, int from) const {
    const int count = hops_ - from < kStepsAhead ? hops_ - from : kStepsAhead;
    block_.each(count, [&](size_t i) { steps[i] = table_[from + i]; });
    return steps;
  }

  // A step by peer, one peer after another, starting with a neighbour so that ranks do not all turn
  // to the same one. The last turn is this rank's own chunk.
  WEFT_DEV Step turn_of(const Step& step, int turn) const {
    const bool sends = step.send.any(), own = turn == at_.n - 1;
    const int distance = sends ? turn + 1 : at_.n - 1 - turn;
    const int peer = (at_.place + distance) % at_.n;
    Step one;
    one.by_peer = true;
    one.chunk = peer;
    const int found = sends ? step.send.at(peer, at_.place) : step.recv.at(peer, at_.place);
    if (own || found >= 0) {
      one.read_input = sends && (!own || step.write_output);
      one.write_output = own ? one.read_input : !sends;
      if (!own && sends) one.send = Peers::one(peer);
      if (!own && !sends) one.recv = Peers::one(peer);
    }
    return one;
  }

  WEFT_DEV bool run_step(const Packs& loop, const Step& step) {
    const bool talks = step.recv.any() || step.send.any();
    if (!talks && !step.read_input) return true;
    const size_t slice_elems = size_t(work_.slice_packs) * Pack<Type>::kElems;
    const Range chunk = step.card ? Range{0, 1} : work_.chunking.chunk(loop, step.chunk);
    WEFT_ROLLED
    for (size_t done = 0; done < chunk.count; done += slice_elems) {
      const size_t left = chunk.count - done;
      if (talks && !protocol_.begin(step)) return false;
      const Slice slice =
          slice_at(step, chunk.first + done, left < slice_elems ? left : slice_elems);
      if (!talks && slice.input == slice.output) continue;  // a copy in place
      if (step.card) {
        protocol_.move_cards(work_, step);
      } else {
        Move<Protocol, Type, Op>(protocol_, at_, step, op_, slice).run(block_);
      }
      if (talks) protocol_.end(step);
    }
    return true;
  }

  WEFT_DEV Slice slice_at(const Step& step, size_t first, size_t elems) {
    using Storage = typename Type::storage;
    const size_t in = step.chunk * work_.input_stride + first;
    const size_t out = step.chunk * work_.output_stride + first;
    if constexpr (Protocol::kMaps) {
      const int to = step.by_peer ? at_.place : step.chunk;
      protocol_.go_to(in * sizeof(Storage), (to * work_.output_stride + first) * sizeof(Storage));
    }
    const auto* bias = static_cast<const Storage*>(work_.bias);
    return {static_cast<const Storage*>(work_.input) + in,
            static_cast<Storage*>(work_.output) + out, bias == nullptr ? nullptr : bias + out,
            elems};
  }

  const Block& block_;
  const DeviceComm& comm_;
  const Work& work_;
  const OpArg& op_;
  const Place at_;
  const uint32_t channel_;
  int hops_;
  const Step* table_;
  Step* const steps_;  // of kStepsAhead hops, in the block's scratch
  Protocol protocol_;
};

}  // namespace weft
