// Protocol Simple: a FIFO of slots in the receiver's memory, one flag a slot, credits back. How a
// slice is handed over, and nothing about collectives or arithmetic.
//
// Invariants
//  1. Slice k of a flow (counted from the communicator's first, wrapping) lies in slot k mod slots;
//  its flag is k+1.
//  2. The sender fills a slot only after credit k+1-slots: the receiver has taken what was there.
//  3. Counters live in device memory between kernels and belong to the channel, not to a block: the
//  grid may change.
//  4. The leader polls, posts and counts; the others learn after a barrier. It polls all words of a
//     step before one acquire, and posts all of them after one release: fences cost more than
//     words.
// Next on the path: engine.h runs steps over it, move.h moves the bytes between begin() and end().
#pragma once

#include "device/sync.h"

namespace weft {

class Simple {
 public:
  WEFT_DEV Simple(const Block& block, const DeviceComm& comm, const Waits& waits, uint32_t channel,
                  uint32_t signature)
      : block_(block),
        comm_(comm),
        waits_(waits),
        channel_(channel),
        signature_(signature),
        flows_(static_cast<FlowCounters*>(block.scratch())) {
    block_.each(comm_.size, [&](size_t peer) { flows_[peer] = saved(peer); });
    block_.sync();
  }

  // The slice to receive is there and there is room for the one to send; false: the block leaves.
  WEFT_DEV bool begin(const Step& step) const {
    if (block_.leader()) {
      if (!wait(step)) block_.stop();
      platform::acquire_system();  // partner: the release in end()
    }
    block_.sync();
    return !block_.stopped();
  }

  // Where the slice lies that was received, and where the one to send goes; null without.
  WEFT_DEV const char* source(const Step& step) const {
    if (!step.recv.any()) return nullptr;
    const uint32_t peer = step.recv.place;
    return comm_.box.slot(comm_.peers[peer].inbox, channel_,
                          flows_[peer].received % comm_.box.slots);
  }
  WEFT_DEV char* target(const Step& step) const {
    if (!step.send.any()) return nullptr;
    const uint32_t peer = step.send.place;
    return comm_.box.slot(comm_.peers[peer].outbox, channel_, flows_[peer].sent % comm_.box.slots);
  }

  // The block has read its source and written its target.
  WEFT_DEV void end(const Step& step) const {
    complete(block_);
    if (!block_.leader()) return;
    platform::release_system();  // partner: the acquire in begin()
    if (step.recv.any()) {
      const uint32_t peer = step.recv.place, taken = ++flows_[peer].received;
      platform::post64(comm_.box.credit(comm_.peers[peer].outbox, channel_),
                       flag_word(taken, signature_));
    }
    if (step.send.any()) {
      const uint32_t peer = step.send.place, sent = flows_[peer].sent++;
      platform::post64(comm_.box.ready(comm_.peers[peer].outbox, channel_) + sent % comm_.box.slots,
                       flag_word(sent + 1, signature_));
    }
  }

  // At the end of a channel.
  WEFT_DEV void save() const {
    block_.sync();
    block_.each(comm_.size, [&](size_t peer) { saved(peer) = flows_[peer]; });
    block_.sync();
  }

 private:
  WEFT_DEV bool wait(const Step& step) const {
    const uint32_t slots = comm_.box.slots;
    if (step.recv.any()) {
      const uint32_t peer = step.recv.place, received = flows_[peer].received;
      const uint64_t* ready = comm_.box.ready(comm_.peers[peer].inbox, channel_) + received % slots;
      if (!wait_ready(waits_, ready, received + 1, signature_, peer, channel_)) return false;
    }
    if (!step.send.any()) return true;
    const uint32_t peer = step.send.place;
    const uint64_t* credit = comm_.box.credit(comm_.peers[peer].inbox, channel_);
    return wait_credit(waits_, credit, flows_[peer].sent + 1 - slots, peer, channel_);
  }
  WEFT_DEV FlowCounters& saved(size_t peer) const {
    return comm_.counters[peer * comm_.box.channels + channel_];
  }

  const Block& block_;
  const DeviceComm& comm_;
  const Waits& waits_;
  const uint32_t channel_, signature_;
  FlowCounters* const flows_;  // of this channel, by rank, in the block's scratch
};

}  // namespace weft
