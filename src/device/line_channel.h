// One channel of a region of lines, a slice at a time: where slices lie, their flags, the wait for
// one, the rounds of a sweep. Rules: lines.h. Used where one slice is all there is: one_hop.h,
// cards.h.
#pragma once

#include "device/lines.h"

namespace weft {

template <class Format>
class LineChannel {
 public:
  using Unit = typename Format::Unit;
  using Flag = typename Format::Flag;

  // `peers`: by rank. `begun`: slices of an exchange before this operation, begun_of(). `compares`:
  // waits look which call the peer is in.
  WEFT_DEV LineChannel(const Block& block, const DeviceComm& comm, const DevicePeer* peers,
                       const Waits& waits, Region region, uint32_t signature, uint32_t channel,
                       const FlowCounters& begun, bool compares = true)
      : block_(block),
        comm_(comm),
        peers_(peers),
        waits_(waits),
        signature_(signature),
        channel_(channel),
        counters_(&comm.counter(region, 0, channel)),
        begun_(begun),
        compares_(compares),
        exchange_(region == Format::kExchange),
        fifo_(comm.box.of(region)),
        slots_(size_t(fifo_.slot(nullptr, comm.box.channels, channel, 0))) {}

  static WEFT_DEV FlowCounters begun_of(const DeviceComm& comm, Region region, uint32_t channel) {
    return comm.counter(region, comm.rank == 0 ? 1 : 0, channel);
  }

  WEFT_DEV bool exchanges() const { return exchange_; }
  WEFT_DEV const Fifo& fifo() const { return fifo_; }
  WEFT_DEV FlowCounters& counters(int peer) const {
    return counters_[size_t(peer) * comm_.box.channels];
  }
  // Slices before this operation. Those of an exchange are equally many on all flows.
  WEFT_DEV FlowCounters begun(int peer) const {
    if (!exchange_) return counters(peer);
    return {begun_.sent, begun_.received};
  }
  // Slices of an operation that has `slices`: the rounds of a sweep follow (lines.h, invariant 4).
  WEFT_DEV uint32_t with_sweep(uint32_t slices) const {
    return exchange_ && crosses_sweep<Format>(begun_.received, slices) ? slices + kSweepRounds
                                                                       : slices;
  }

  WEFT_DEV char* slot(char* box, uint32_t counter) const {
    return box + slots_ + (counter & (fifo_.slots - 1)) * fifo_.slot_bytes;
  }
  WEFT_DEV WaitSite site(Fault::Wait wait, int peer, uint64_t expected) const {
    return {wait, uint32_t(peer), channel_, expected,
            compares_ ? comm_.box.header(peers_[peer].inbox) : nullptr};
  }

  // A unit of slice begun + `slice`.
  template <class Type>
  WEFT_DEV void put(int peer, uint32_t slice, const Unit& unit, const Pack<Type>& pack) const {
    const uint32_t counter = begun(peer).sent + slice;
    Format::store(slot(peers_[peer].outbox, counter), unit, Format::flag(counter + 1, signature_),
                  pack.bytes);
  }
  // Of a lane that gave up, which waits no more: anything.
  template <class Type>
  WEFT_DEV Pack<Type> get(int peer, uint32_t slice, const Unit& unit) {
    const uint32_t counter = begun(peer).received + slice;
    const char* in = slot(peers_[peer].inbox, counter);
    const Flag wanted = Format::flag(counter + 1, signature_);
    Patience patience;
    Pack<Type> pack{};
    if (alive_)
      alive_ = poll_unit<Format>(in, unit, wanted, pack.bytes, [&](Flag seen) {
        return must_leave_line<Format>(waits_, site(Fault::kData, peer, 0), signature_, wanted,
                                       seen, patience);
      });
    return pack;
  }

  // Between the two rounds of a sweep; all ranks have taken slices up to begun + `slices`.
  WEFT_DEV void clear_inboxes(uint32_t slices) const {
    WEFT_ROLLED
    for (uint32_t i = 0; i < uint32_t(comm_.size) * fifo_.slots; ++i) {
      char* inbox = peers_[i / fifo_.slots].inbox;
      if (inbox != nullptr)
        clear_slot<Format>(block_, fifo_, slot(inbox, i), begun_.received + slices,
                           Format::kUnitBytes);
    }
    complete(block_);
    if (block_.leader()) platform::release_system();  // partner: peers' stores after the round
    block_.sync();
  }

 private:
  const Block& block_;
  const DeviceComm& comm_;
  const DevicePeer* const peers_;
  const Waits& waits_;
  const uint32_t signature_, channel_;
  FlowCounters* const counters_;  // by rank, as many apart as there are channels
  const FlowCounters begun_;      // of an exchange
  const bool compares_;
  const bool exchange_;
  const Fifo& fifo_;
  const size_t slots_;  // of the channel, from the start of a box
  bool alive_ = true;
};

}  // namespace weft
