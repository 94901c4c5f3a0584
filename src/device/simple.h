// Protocol Simple: a FIFO of slots in the receiver's memory, one flag a slot, credits back. How a
// slice is handed over, and nothing about collectives or arithmetic.
//
// Invariants
//  1. Slice k of a flow (counted from the communicator's first, wrapping) lies in slot k mod slots;
//  its flag is k+1.
//  2. The sender fills a slot only after credit k+1-slots: the receiver has taken what was there.
//  3. Counters live in device memory between kernels and belong to the channel (flows.h).
//  4. The leader polls, posts and counts; the others learn after a barrier. It polls all words of a
//     step before one acquire, and posts all of them after one release: fences cost more than
//     words.
//  5. Zero-copy: when the cards (cards.h) show that all ranks reach all buffers, slots and flags
//  rest, and steps read and write the peers' buffers.
// Next on the path: engine.h runs steps over it, move.h moves the bytes between begin() and end().
#pragma once

#include "device/cards.h"
#include "device/flows.h"
#include "device/pack.h"

namespace weft {

class Simple {
 public:
  using Unit = size_t;                                             // a pack
  static constexpr int kPacksInFlight = platform::kPacksInFlight;  // of a lane
  static constexpr bool kLanesWithout = false;                     // a pack
  static constexpr bool kWholePacks = false;
  static constexpr bool kMaps = true;  // zero-copy: invariant 5

  // Calls f with each of `packs` packs but the first `done` ones.
  template <class F>
  WEFT_DEV void each_pack(size_t packs, size_t done, F f) const {
    block_.each(packs - done, [&](size_t i) { f(done + i); });
  }

  WEFT_DEV Simple(const Block& block, const DeviceComm& comm, const Waits& waits, const Work& work,
                  uint32_t channel)
      : block_(block),
        waits_(waits),
        signature_(work.signature),
        self_(comm.rank),
        size_(comm.size),
        cards_(block, comm, waits, work, channel, scratch_at(block, cards_at(comm.size))),
        flows_(block, comm, work.region, channel, scratch_at(block, flows_at())) {}

  WEFT_DEV void announce() const { flows_.announce(waits_.sequence + 1, signature_); }

  // Whether all ranks reach all buffers, which mapped() says from then on. False: the block leaves.
  WEFT_DEV bool ask() {
    mapped_ = cards_.swap(flows_);
    if (!mapped_) return !block_.stopped();
    if (block_.leader()) {
      leave_if_withdrawn(false);
      flows_.note_zero_copy();
    }
    block_.sync();
    return !block_.stopped();
  }
  WEFT_DEV bool mapped() const { return mapped_; }
  // Where the next slice lies in the buffers of every peer, in packs.
  WEFT_DEV void go_to(size_t input, size_t output) {
    input_at_ = uint32_t(input);
    output_at_ = uint32_t(output);
  }

  // Every slice to receive is there and there is room for every one to send; false: the block
  // leaves.
  WEFT_DEV bool begin(const Step& step) {
    if (mapped_) return !block_.stopped();
    if (block_.leader()) {
      wait(step);
      platform::acquire_system();  // partner: the release in end()
    }
    block_.sync();
    return !block_.stopped();
  }

  // Where a slice lies that was received, and where one to send goes.
  struct Source {
    const char* base;
  };
  struct Target {
    char* base;
  };
  WEFT_DEV Source source(int peer) const {
    const Flow& flow = flows_[peer];
    return {mapped_ ? flow.input + input_at_ * kPackBytes : flows_.in_slot(peer, flow.received)};
  }
  WEFT_DEV Target target(int peer) const {
    const Flow& flow = flows_[peer];
    return {mapped_ ? flow.output + (output_at_ * kPackBytes - Cards::kOffered)
                    : flows_.out_slot(peer, flow.sent)};
  }
  template <class Type>
  WEFT_DEV Pack<Type> get(const Source& source, size_t index) {
    return load_pack<Type>(source.base + index * kPackBytes);
  }
  template <class Type>
  WEFT_DEV void put(const Target& target, size_t index, const Pack<Type>& pack) {
    store_pack(target.base + index * kPackBytes, pack);
  }

  // The block has read its sources and written its targets.
  WEFT_DEV void end(const Step& step) {
    if (mapped_) return;
    complete(block_);
    if (!block_.leader()) return;
    platform::release_system();  // partner: the acquire in begin()
    flows_.each_peer(step.recv, [&](int peer) {
      flows_.post_credit(peer, ++flows_[peer].received, signature_);
    });
    flows_.each_peer(step.send,
                     [&](int peer) { flows_.post_ready(peer, flows_[peer].sent++, signature_); });
  }

  WEFT_DEV void end_step(const Step&) {}
  // Zero-copy waits for nothing, so it looks now and then whether it is to leave.
  WEFT_DEV bool end_loop(uint32_t loop) {
    if (!mapped_ || loop % kLoopsPerLook != kLoopsPerLook - 1) return true;
    if (block_.leader()) leave_if_withdrawn(given_up(waits_));
    block_.sync();
    return !block_.stopped();
  }
  // At the end of a channel.
  WEFT_DEV bool save() {
    block_.sync();
    cards_.meet(mapped_);
    flows_.save();
    return !block_.stopped();
  }

 private:
  static constexpr uint32_t kLoopsPerLook = 8;
  // By the leader; or if it knows another reason.
  WEFT_DEV void leave_if_withdrawn(bool leaves) const {
    flows_.each_peer(Peers::others(), [&](int peer) { leaves |= flows_.withdrawn(peer); });
    platform::acquire_system();  // partner: withdraw() of the peer
    if (leaves) leave(waits_, Fault::kAborted, {Fault::kData, uint32_t(self_), 0, 0, nullptr}, 0);
  }
  // First for data, then for room.
  WEFT_DEV void wait(const Step& step) const {
    const int sources = step.recv.candidates(size_), targets = step.send.candidates(size_);
    WEFT_ROLLED
    for (int i = 0; i < sources + targets && !block_.stopped(); ++i) {
      const bool data = i < sources;
      const int peer = data ? step.recv.at(i, self_) : step.send.at(i - sources, self_);
      if (peer < 0) continue;
      const Flow& flow = flows_[peer];
      const uint32_t counter = data ? flow.received + 1 : flow.sent + 1 - flows_.fifo().slots;
      const uint64_t* word = data ? flows_.ready_of(peer, flow.received) : flows_.credit_of(peer);
      const WaitSite site =
          flows_.site(data ? Fault::kData : Fault::kCredit, peer, flag_word(counter, signature_));
      const uint64_t seen = wait_word(waits_, word, site);
      // A slot's flag stays until this rank gives credit: another signature is another call.
      if (data && !block_.stopped() && flag_signature(seen) != signature_)
        leave(waits_, Fault::kMismatch, site, seen);
    }
  }

  const Block& block_;
  const Waits& waits_;
  const uint32_t signature_;
  const int self_, size_;
  Cards cards_;
  const Flows flows_;
  bool mapped_ = false;
  uint32_t input_at_ = 0, output_at_ = 0;
};

}  // namespace weft
