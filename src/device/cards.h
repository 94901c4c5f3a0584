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
  using Lines = LineChannel<LlFormat>;

 public:
  // `own`: memory of the block. A barrier follows before swap().
  WEFT_DEV Cards(const Block& block, const DeviceComm& comm, const Waits& waits, const Work& work,
                 uint32_t channel, void* own)
      : block_(block),
        comm_(comm),
        waits_(waits),
        work_(work),
        channel_(channel),
        own_(static_cast<CardWords*>(own)) {
    if (work_.mapped.list.steps != nullptr && block_.leader())
      *own_ = {Lines::begun_of(comm_, Region::kLlExchange, channel_), look()};
  }

  // Gives this rank's card and takes all others', into `flows`; whether all reach all. A stopped
  // block leaves.
  WEFT_DEV bool swap(const Flows& flows) const {
    Lines lines = this->lines(true);
    each_other([&](int peer) {
      platform::release_system();  // partner: the acquire below
      lines.put(peer, 0, 0, card_for(peer));
    });
    each_other([&](int peer) {
      const auto card = bits_as<Card>(lines.template get<Uint8>(peer, 0, 0).bytes);
      flows[peer].input = reinterpret_cast<const char*>(card.input);
      flows[peer].output = reinterpret_cast<char*>(card.output);
      platform::acquire_system();  // partner: the release above, of this peer
    });
    block_.sync();
    bool all = own_->reached != 0;
    WEFT_ROLLED
    for (int peer = 0; peer < comm_.size; ++peer)
      all &= peer == comm_.rank || flows[peer].output != nullptr;
    return all;
  }
  // At the end of a channel: all have read and written, if the buffers were reached.
  WEFT_DEV void meet(bool reached) const {
    if (work_.mapped.list.steps == nullptr) return;
    complete(block_);
    // Channels that wait for nothing may be far apart; the cards have shown that the call is one.
    Lines lines = this->lines(false);
    const uint32_t slices = reached ? 2 : 1, all = lines.with_sweep(slices);
    WEFT_ROLLED
    for (uint32_t slice = 1; slice < all; ++slice) {
      if (slice == slices + 1) lines.clear_inboxes(slice);
      each_other([&](int peer) {
        platform::release_system();  // partner: the acquire below, of this peer
        lines.put(peer, slice, 0, Pack<Uint8>{});
      });
      each_other([&](int peer) {
        lines.template get<Uint8>(peer, slice, 0);
        platform::acquire_system();  // partner: the release above, of this peer
      });
      block_.sync();
      if (block_.stopped()) return;
    }
    block_.each(comm_.size, [&](int peer) {
      FlowCounters& now = lines.counters(peer);
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
  WEFT_DEV Lines lines(bool compares) const {
    return Lines(block_, comm_, comm_.peers, waits_, Region::kLlExchange, work_.signature, channel_,
                 own_->begun, compares);
  }

  WEFT_DEV uint32_t look() const {
    const MappedWork& mine = work_.mapped;
    const bool may = mine.input != nullptr && mine.output != nullptr;
    const bool reached = may && platform::poll64(&mine.input->reached) != 0 &&
                         platform::poll64(&mine.output->reached) != 0;
    platform::acquire_system();  // partner: the host's copy of the shifts, before that of the word
    return reached ? 1 : 0;
  }
  static WEFT_DEV uint64_t address_at(const void* buffer, const Reach& reach, int peer) {
    const auto* shift = reinterpret_cast<const uint64_t*>(&reach.shift[peer]);
    return reinterpret_cast<uint64_t>(buffer) + platform::poll64(shift);
  }
  WEFT_DEV Pack<Uint8> card_for(int peer) const {
    if (own_->reached == 0) return {};
    return {bits_as<platform::Bytes16>(
        Card{address_at(work_.input, *work_.mapped.input, peer),
             address_at(work_.output, *work_.mapped.output, peer) + kOffered})};
  }

  const Block& block_;
  const DeviceComm& comm_;
  const Waits& waits_;
  const Work& work_;
  const uint32_t channel_;
  CardWords* const own_;
};

}  // namespace weft
