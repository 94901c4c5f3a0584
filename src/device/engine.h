// The engine: one loop that runs any pattern over any protocol. For every loop of a channel and
// every hop: ask the pattern for the step, wait, move, post. Owns: the order of loops, hops and
// slices. Next on the path: a protocol (simple.h) and move.h.
#pragma once

#include "device/move.h"

namespace weft {

// One channel of one operation; false: a wait gave up and the block leaves.
template <class Protocol, class Type, class Op>
WEFT_DEV bool run_channel(const Block& block, const DeviceComm& comm, const Work& work,
                          const Waits& waits, uint32_t channel) {
  const Protocol protocol(block, comm, waits, channel, work.signature);
  const int hops = pattern_hops(work.pattern, comm.size);
  const size_t slice_elems = size_t(work.slice_packs) * Pack<Type>::kElems;
  const Share share = work.chunking.share(channel);
  const uint32_t loops = work.chunking.loops(share);
  for (uint32_t index = 0; index < loops; ++index) {
    const Loop loop = work.chunking.loop(share, index);
    for (int hop = 0; hop < hops; ++hop) {
      const Step step = pattern_step(work.pattern, comm.rank, comm.size, hop);
      const Range chunk = work.chunking.chunk(loop, step.chunk);
      for (size_t done = 0; done < chunk.count; done += slice_elems) {
        const size_t left = chunk.count - done;
        const Range slice{chunk.first + done, left < slice_elems ? left : slice_elems};
        if (!protocol.begin(step)) return false;
        Move<Type, Op>(step, work, slice, protocol.source(step), protocol.target(step)).run(block);
        protocol.end(step);
      }
      if (block.leader()) platform::note32(&comm.words->stage[channel], index * hops + hop + 1);
    }
  }
  protocol.save();
  return true;
}

}  // namespace weft
