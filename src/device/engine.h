// The engine: one loop that runs any pattern over any protocol. For every loop of a channel and
// every hop: take the pattern's step, wait, move, post. Owns: the order of loops, hops, peers
// and slices. Next on the path: a protocol (simple.h, ll.h) and move.h.
#pragma once

#include "device/move.h"

namespace weft {

// One channel of one operation.
template <class Protocol, class Type>
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
        steps_(static_cast<Step*>(scratch_at(block, steps_at(comm.size)))),
        first_steps_(copy_steps(list(asks()))),
        protocol_(block, comm, waits, work, channel) {}

  // False: a wait gave up and the block leaves.
  WEFT_DEV bool run() {
    if (block_.stopped()) return false;
    if (channel_ == 0) protocol_.announce();
    if (asks()) {
      if (!protocol_.ask()) return false;
      if (!protocol_.mapped()) change_steps(list(false), 0);
    }
    return run_steps(list(protocol_.mapped())) && protocol_.save();
  }

 private:
  // Whether the ranks ask each other for their buffers; the steps differ when they get them.
  WEFT_DEV bool asks() const { return Protocol::kMaps && work_.mapped.list.steps != nullptr; }

  WEFT_DEV bool run_steps(StepList list) {
    WEFT_ROLLED
    for (uint32_t index = 0; index < work_.chunking.loops; ++index) {
      const Packs loop =
          work_.chunking.loop(work_.chunking.share(channel_ - work_.first_channel), index);
      WEFT_ROLLED
      for (int i = 0; i < list.count; ++i) {
        if (i % kStepsAhead == 0 && list.count > kStepsAhead) change_steps(list, i);
        const Step& step = platform::same_in_wave(steps_[i % kStepsAhead]);
        if (!run_step(loop, step)) return false;
        protocol_.end_step(step);
        if (block_.leader())
          platform::note32(&comm_.words->stage[channel_], index * list.count + i + 1);
      }
      if (!protocol_.end_loop(index)) return false;
    }
    return true;
  }

  // By value, field by field: a reference to either list would keep the arguments in memory.
  WEFT_DEV StepList list(bool mapped) const {
    const int count = mapped ? work_.mapped.list.count : work_.list.count;
    const Step* steps = mapped ? work_.mapped.list.steps : work_.list.steps;
    return {steps + (mapped ? 0 : channel_ % 2 * count), count};
  }
  // As many as lie ready at a time. A barrier follows: at first, that of the protocol's own loads.
  WEFT_DEV bool copy_steps(StepList list) const {
    block_.each(list.count < kStepsAhead ? list.count : kStepsAhead,
                [&](size_t i) { steps_[i] = list.steps[i]; });
    return true;
  }
  WEFT_DEV void change_steps(StepList list, int from) const {
    block_.sync();
    copy_steps({list.steps + from, list.count - from});
    block_.sync();
  }

  WEFT_DEV bool run_step(const Packs& loop, const Step& step) {
    const bool talks = step.recv.any() || step.send.any();
    if (!talks && !step.read_input) return true;
    const size_t slice_elems = size_t(work_.slice_packs) * Pack<Type>::kElems;
    const Range chunk = work_.chunking.chunk(loop, step.chunk);
    WEFT_ROLLED
    for (size_t done = 0; done < chunk.count; done += slice_elems) {
      const size_t left = chunk.count - done;
      if (talks && !protocol_.begin(step)) return false;
      const Slice slice =
          slice_at(step, chunk.first + done, left < slice_elems ? left : slice_elems);
      if (!talks && slice.input == slice.output) continue;  // a copy in place
      Move<Protocol, Type>(protocol_, at_, step, op_, slice).run(block_);
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
      protocol_.go_to(in / Pack<Type>::kElems,
                      (to * work_.output_stride + first) / Pack<Type>::kElems);
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
  Step* const steps_;       // kStepsAhead of them, in the block's scratch
  const bool first_steps_;  // are on their way
  Protocol protocol_;
};

}  // namespace weft
