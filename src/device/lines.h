// Protocols whose data and flags travel together in lines: who sees the flag has the data (M1), so
// that a slice needs no fence, no barrier and no further word. Owns: slots, flags, credits, what a
// wait looks at. Does not own: what a line looks like (ll.h, ll128.h).
//
// Invariants
//  1. Slice k of a flow lies in slot k mod slots. A flag holds the counter k+1 and the signature of
//  the call; it must be equal, not reached.
//  2. Flags of old slices stay in lines that short slices do not cover. No flag may come round
//  again in such a line, so every slot is swept once in kSweepEvery slices, far fewer than the
//  counter of a flag can tell apart.
//  3. Stream (any pattern): the sender fills a slot after credit k+1-slots, as in Simple. The
//  receiver sweeps a slot before it gives the credit for it.
//  4. Exchange (patterns in which every rank waits for all others, each loop with data on every
//  flow): two slots, no credits. Slice k+2 is sent after the peer's slice k+1 came, which the peer
//  sent after it had taken slice k. A loop ends with a barrier of the block, so that what one lane
//  has seen holds for all. The channel sweeps between two rounds that all ranks wait for, which use
//  the first unit only.
//  5. A lane that gives up sends nothing more: no peer can take what it did not have for data.
// Next on the path: move.h asks for packs with get() and gives them with put().
#pragma once

#include "device/flows.h"
#include "device/pack.h"

namespace weft {

// ---- Rules that one_hop.h shares ----

// Whether `slices` more of an exchange make it sweep, which takes kSweepRounds further slices.
template <class Format>
WEFT_DEV bool crosses_sweep(uint32_t begun, uint32_t slices) {
  return begun / Format::kSweepEvery != (begun + slices) / Format::kSweepEvery;
}
constexpr uint32_t kSweepRounds = 2;

// Of a stream: slice `counter` lies in a slot that is to be swept.
template <class Format>
WEFT_DEV bool is_swept(const Fifo& fifo, uint32_t counter) {
  return counter % Format::kSweepEvery < fifo.slots;
}

// Marks the lines of a slot as of a slice long past, from byte `first` on.
template <class Format>
WEFT_DEV void clear_slot(const Block& block, const Fifo& fifo, char* slot, uint32_t counter,
                         size_t first) {
  const platform::Bytes16 line = Format::cleared(counter);
  block.each((fifo.slot_bytes - first) / kPackBytes,
             [&](size_t i) { platform::store_line(slot + first + i * kPackBytes, line); });
}

// A look beside the polls of a line, now and then; true: the lane gives up.
template <class Format>
WEFT_DEV bool must_leave_line(const Waits& waits, WaitSite site, uint32_t signature,
                              typename Format::Flag wanted, typename Format::Flag seen,
                              Patience& patience) {
  const uint64_t word = flag_word(Format::counter(seen), Format::signature(seen));
  site.expected = flag_word(Format::counter(wanted), signature);
  if (Format::counter(seen) != Format::counter(wanted) || seen == wanted)
    return must_leave(waits, site, word, patience);
  leave(waits, Fault::kMismatch, site, word);
  return true;
}

// Polls a unit until it has come. `leaves` is asked now and then with the flag that was seen; once
// it says so the answer is false, for all lanes that share the unit.
template <class Format, class Leaves>
WEFT_DEV bool poll_unit(const char* slot, const typename Format::Unit& unit,
                        typename Format::Flag wanted, platform::Bytes16& pack, Leaves leaves) {
  WEFT_ROLLED
  for (unsigned spins = 1;; ++spins) {
    typename Format::Flag seen{};
    if (Format::load(slot, unit, wanted, pack, seen)) {
      platform::poll_hit();
      return true;
    }
    platform::poll_miss(Format::polled(slot, unit));
    if (spins % platform::kSpinsPerCheck == 0 && Format::any(leaves(seen))) return false;
  }
}

// Format: the lines of one protocol, in units of one or more packs that lanes read and write
// together (ll.h).
template <class Format>
class Lines {
 public:
  using Unit = typename Format::Unit;
  using Flag = typename Format::Flag;
  static constexpr int kPacksInFlight = 1;  // of a lane: it polls one pack's lines at a time
  static constexpr bool kLanesWithout = Format::kLanesWithout;
  static constexpr bool kWholePacks = Format::kWholePacks;
  static constexpr bool kMaps = false;  // zero-copy is Simple's

  WEFT_DEV Lines(const Block& block, const DeviceComm& comm, const Waits& waits, const Work& work,
                 uint32_t channel)
      : block_(block),
        waits_(waits),
        signature_(work.signature),
        self_(comm.rank),
        size_(comm.size),
        exchange_(work.region == Format::kExchange),
        flows_(block, comm, work.region, channel, scratch_at(block, flows_at())) {}

  struct Source {
    const char* base;
    Flag flag;
    int peer;
  };
  struct Target {
    char* base;
    Flag flag;
  };

  // Calls f with the unit of each of `packs` packs; lanes that stand for none of them call it too
  // where lanes work together.
  template <class F>
  WEFT_DEV void each_pack(size_t packs, size_t /*done*/, F f) const {
    Format::each_pack(block_, packs, f);
  }

  static WEFT_DEV bool mapped() { return false; }
  WEFT_DEV bool ask() { return true; }
  WEFT_DEV void announce() const { flows_.announce(waits_.sequence + 1, signature_); }
  WEFT_DEV bool begin(const Step& step) {
    if (exchange_) return true;
    if (block_.leader()) wait_room(step);
    block_.sync();
    return !block_.stopped();
  }

  WEFT_DEV Source source(int peer) const {
    const uint32_t k = flows_[peer].received + received_;
    return {flows_.in_slot(peer, k), Format::flag(k + 1, signature_), peer};
  }
  WEFT_DEV Target target(int peer) const {
    const uint32_t k = flows_[peer].sent + sent_;
    return {flows_.out_slot(peer, k), Format::flag(k + 1, signature_)};
  }

  template <class Type>
  WEFT_DEV Pack<Type> get(const Source& source, const Unit& unit) {
    Patience patience;
    Pack<Type> pack{};
    if (alive_)
      alive_ = poll_unit<Format>(source.base, unit, source.flag, pack.bytes,
                                 [&](Flag seen) { return leaves(source, seen, patience); });
    return pack;
  }
  template <class Type>
  WEFT_DEV void put(const Target& target, const Unit& unit, const Pack<Type>& pack) {
    if (alive_) Format::store(target.base, unit, target.flag, pack.bytes);
  }

  WEFT_DEV void end(const Step& step) {
    if (exchange_) return;
    block_.sync();
    flows_.each_peer(step.recv, [&](int peer) { sweep_slot(peer); });
    complete(block_);
    if (!block_.leader()) return;
    platform::release_system();  // partner: the peer's stores after wait_room()
    flows_.each_peer(step.recv, [&](int peer) {
      flows_.post_credit(peer, ++flows_[peer].received, signature_);
    });
    flows_.each_peer(step.send, [&](int peer) { ++flows_[peer].sent; });
  }
  // Of an exchange: each hop is one slice of every flow.
  WEFT_DEV void end_step(const Step& step) {
    if (!exchange_) return;
    received_ += step.counts_received ? 1 : 0;
    sent_ += step.counts_sent ? 1 : 0;
  }
  WEFT_DEV bool end_loop(uint32_t /*loop*/) {
    if (!exchange_) return true;
    block_.sync();
    return !block_.stopped();
  }
  WEFT_DEV bool save() {
    if (exchange_ && crosses_sweep<Format>(flows_[self_ == 0 ? 1 : 0].received, received_))
      sweep_exchange();
    block_.sync();
    block_.each(size_, [&](size_t peer) {
      flows_[int(peer)].sent += sent_;
      flows_[int(peer)].received += received_;
    });
    flows_.save();
    return !block_.stopped();
  }

 private:
  WEFT_DEV void wait_room(const Step& step) const {
    flows_.each_peer(step.send, [&](int peer) {
      const uint32_t free = flows_[peer].sent + 1 - flows_.fifo().slots;
      if (!block_.stopped())
        wait_word(waits_, flows_.credit_of(peer),
                  flows_.site(Fault::kCredit, peer, flag_word(free, signature_)));
    });
  }

  WEFT_DEV bool leaves(const Source& source, Flag seen, Patience& patience) const {
    return must_leave_line<Format>(waits_, flows_.site(Fault::kData, source.peer, 0), signature_,
                                   source.flag, seen, patience);
  }

  WEFT_DEV void sweep_slot(int peer) const {
    const uint32_t k = flows_[peer].received;
    if (is_swept<Format>(flows_.fifo(), k))
      clear_slot<Format>(block_, flows_.fifo(), flows_.in_slot(peer, k), k, 0);
  }
  template <class F>
  WEFT_DEV void each_other(F f) const {
    WEFT_ROLLED
    for (int peer = 0; peer < size_; ++peer)
      if (peer != self_) f(peer);
  }
  // Between two rounds in which all ranks hear of all others.
  WEFT_DEV void sweep_exchange() {
    block_.sync();
    WEFT_ROLLED
    for (int round = 0; round < int(kSweepRounds); ++round) {
      each_other([&](int peer) {
        each_pack(1, 0, [&](const Unit& unit) { put(target(peer), unit, Pack<Uint8>{}); });
      });
      each_other([&](int peer) {
        each_pack(1, 0, [&](const Unit& unit) { get<Uint8>(source(peer), unit); });
      });
      ++sent_, ++received_;
      block_.sync();
      if (round == 0) clear_inboxes();
    }
  }
  WEFT_DEV void clear_inboxes() const {
    WEFT_ROLLED
    for (uint32_t i = 0; i < uint32_t(size_) * flows_.fifo().slots; ++i) {
      const int peer = int(i / flows_.fifo().slots);
      if (peer != self_)
        clear_slot<Format>(block_, flows_.fifo(), flows_.in_slot(peer, i),
                           flows_[peer].received + received_, Format::kUnitBytes);
    }
    complete(block_);
    if (block_.leader()) platform::release_system();  // partner: peers' stores after the round
    block_.sync();
  }

  const Block& block_;
  const Waits& waits_;
  const uint32_t signature_;
  const int self_, size_;
  const bool exchange_;
  const Flows flows_;
  uint32_t sent_ = 0, received_ = 0;  // of an exchange, beyond the counters in flows_
  bool alive_ = true;
};

}  // namespace weft
