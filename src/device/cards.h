// How ranks meet around zero-copy (docs/decisions/0004): everybody tells all where its buffers are,
// or that they are not to be reached, and at the end that it has read and written. Two exchanges of
// one pack over LL, beside the protocol that moves data. Owns: what a card says, the fences around
// it.
//
// Invariants
//  1. All ranks hold all cards, so all know alike whether all reach all.
//  2. The host may turn `reached` any time: one look of a block, and all peers are told the same.
//  3. The release before a card covers the input, that before the second exchange the outputs of
//  peers; an acquire follows each.
#pragma once

#include "device/line_channel.h"
#include "device/ll.h"

namespace weft {

class Cards {
 public:
  // `looked`: a word of the block's own memory. A barrier follows before swap().
  WEFT_DEV Cards(const Block& block, const DeviceComm& comm, const Waits& waits, const Work& work,
                 uint32_t channel, uint32_t* looked)
      : block_(block),
        comm_(comm),
        work_(work),
        looked_(looked),
        lines_(block, comm, comm.peers, waits, Region::kLlExchange, work.signature, channel) {
    if (work_.mapped.list.steps != nullptr && block_.leader()) look();
  }

  // Gives this rank's card and takes all others', into `flows`; whether all reach all. A stopped
  // block leaves.
  WEFT_DEV bool swap(const Flows& flows) {
    each_other([&](int peer) {
      platform::release_system();  // partner: the acquire below
      lines_.put(peer, 0, 0, card_for(peer));
    });
    each_other([&](int peer) {
      const auto card = bits_as<Card>(lines_.template get<Uint8>(peer, 0, 0).bytes);
      flows[peer].input = reinterpret_cast<const char*>(card.input);
      flows[peer].output = reinterpret_cast<char*>(card.output);
      platform::acquire_system();
    });
    slices_ = 1;
    block_.sync();
    bool all = *looked_ != 0;
    each_peer([&](int peer) { all &= flows[peer].output != nullptr; });
    return all;
  }
  // All have read and written.
  WEFT_DEV void meet() {
    block_.drain();
    block_.sync();
    swap_nothing(1);
    slices_ = 2;
  }
  // At the end of a channel.
  WEFT_DEV void save() {
    if (slices_ == 0) return;
    const uint32_t all = lines_.with_sweep(slices_);
    WEFT_ROLLED
    for (uint32_t slice = slices_; slice < all; ++slice) {
      if (slice > slices_) lines_.clear_inboxes(slice);
      swap_nothing(slice);
    }
    block_.each(comm_.size, [&](int peer) {
      FlowCounters& now = lines_.counters(peer);
      now = {now.sent + all, now.received + all};
    });
  }

  // Added to the address of an output, which may be null: a card of zeros says "no".
  static constexpr size_t kOffered = 1;

 private:
  struct Card {
    uint64_t input, output;
  };

  template <class F>
  WEFT_DEV void each_other(F f) const {
    block_.each(comm_.size, [&](int peer) {
      if (peer != comm_.rank) f(peer);
    });
  }
  template <class F>
  WEFT_DEV void each_peer(F f) const {
    WEFT_ROLLED
    for (int peer = 0; peer < comm_.size; ++peer)
      if (peer != comm_.rank) f(peer);
  }

  WEFT_DEV void look() const {
    const MappedWork& mine = work_.mapped;
    const bool may = mine.input != nullptr && mine.output != nullptr;
    *looked_ = may && platform::poll64(&mine.input->reached) != 0 &&
               platform::poll64(&mine.output->reached) != 0;
    platform::acquire_system();  // partner: the host's copy of the shifts, before that of the word
  }
  static WEFT_DEV uint64_t address_at(const void* buffer, const Reach& reach, int peer) {
    const auto* shift = reinterpret_cast<const uint64_t*>(&reach.shift[peer]);
    return reinterpret_cast<uint64_t>(buffer) + platform::poll64(shift);
  }
  WEFT_DEV Pack<Uint8> card_for(int peer) const {
    if (*looked_ == 0) return {};
    return {bits_as<platform::Bytes16>(
        Card{address_at(work_.input, *work_.mapped.input, peer),
             address_at(work_.output, *work_.mapped.output, peer) + kOffered})};
  }
  WEFT_DEV void swap_nothing(uint32_t slice) const {
    each_other([&](int peer) {
      platform::release_system();
      lines_.put(peer, slice, 0, Pack<Uint8>{});
    });
    each_other([&](int peer) {
      lines_.template get<Uint8>(peer, slice, 0);
      platform::acquire_system();
    });
    block_.sync();
  }

  const Block& block_;
  const DeviceComm& comm_;
  const Work& work_;
  uint32_t* const looked_;
  const LineChannel<LlFormat> lines_;
  uint32_t slices_ = 0;
};

}  // namespace weft
