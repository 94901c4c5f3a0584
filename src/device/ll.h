// Protocol LL: data and flags travel together in lines of 16 bytes, each 8-byte half half data and
// half flag, so that a slice needs no fence, no barrier and no further word: who sees the flag has
// the data (M1). Twice the bytes, the shortest latency.
//
// Invariants
//  1. Slice k of a flow lies in slot k mod slots. A flag is counter16 | signature16 of slice k+1;
//  it must be equal, not reached.
//  2. Flags of old slices stay in lines that short slices do not cover. No flag may come round
//  again in such a line, so every slot is swept once in kSweepEvery slices, far fewer than 2^16.
//  3. Stream (any pattern): the sender fills a slot after credit k+1-slots, as in Simple. The
//  receiver sweeps a slot before it gives the credit for it.
//  4. Exchange (patterns in which every rank waits for all others, each loop with data on every
//  flow): two slots, no credits. Slice k+2 is sent after the peer's slice k+1 came, which the peer
//  sent after it had taken slice k. A loop ends with a barrier of the block, so that what one lane
//  has seen holds for all. The channel sweeps between two rounds that all ranks wait for, which use
//  the first pack's lines only.
//  5. A lane that gives up sends nothing more: no peer can take what it did not have for data.
// Next on the path: move.h asks for packs with get() and gives them with put().
#pragma once

#include "device/flows.h"
#include "device/pack.h"

namespace weft {

class Ll {
 public:
  static constexpr int kPacksInFlight = 1;  // of a lane: it polls one pack's lines at a time

  WEFT_DEV Ll(const Block& block, const DeviceComm& comm, const Waits& waits, const Work& work,
              uint32_t channel)
      : block_(block),
        waits_(waits),
        signature_(work.signature),
        self_(comm.rank),
        size_(comm.size),
        exchange_(work.region == Region::kLlExchange),
        flows_(block, comm, work.region, channel, scratch_at(block, flows_at())) {}

  struct Source {
    const char* base;
    uint32_t flag;
    int peer;
  };
  struct Target {
    char* base;
    uint32_t flag;
  };

  WEFT_DEV void announce() const { flows_.announce(waits_.sequence + 1, signature_); }
  WEFT_DEV bool begin(const Step& step) {
    if (exchange_) return true;
    if (block_.leader()) wait_room(step);
    block_.sync();
    return !block_.stopped();
  }

  WEFT_DEV Source source(int peer) const {
    const uint32_t k = flows_[peer].received + received_;
    return {flows_.in_slot(peer, k), flag_of(k + 1), peer};
  }
  WEFT_DEV Target target(int peer) const {
    const uint32_t k = flows_[peer].sent + sent_;
    return {flows_.out_slot(peer, k), flag_of(k + 1)};
  }

  // A pack is two lines.
  template <class Type>
  WEFT_DEV Pack<Type> get(const Source& source, size_t index) {
    const char* lines = source.base + index * kPackLines;
    Patience patience;
    WEFT_ROLLED
    for (unsigned spins = 1; alive_; ++spins) {
      const platform::Bytes16 a = platform::load_line(lines);
      const platform::Bytes16 b = platform::load_line(lines + kPackBytes);
      if (a.w[1] == source.flag && a.w[3] == source.flag && b.w[1] == source.flag &&
          b.w[3] == source.flag) {
        platform::poll_hit();
        return {{{a.w[0], a.w[2], b.w[0], b.w[2]}}};
      }
      platform::poll_miss(lines);
      if (spins % platform::kSpinsPerCheck == 0 && leaves(source, a.w[1], patience)) alive_ = false;
    }
    return {};
  }
  template <class Type>
  WEFT_DEV void put(const Target& target, size_t index, const Pack<Type>& pack) {
    if (!alive_) return;
    char* lines = target.base + index * kPackLines;
    const auto& w = pack.bytes.w;
    platform::store_line(lines, {{w[0], target.flag, w[1], target.flag}});
    platform::store_line(lines + kPackBytes, {{w[2], target.flag, w[3], target.flag}});
  }

  WEFT_DEV void end(const Step& step) {
    if (exchange_) return;
    block_.sync();
    each_peer(step.recv, [&](int peer) { sweep_slot(peer); });
    complete(block_);
    if (!block_.leader()) return;
    platform::release_system();  // partner: the peer's stores after wait_room()
    each_peer(step.recv,
              [&](int peer) { flows_.post_credit(peer, ++flows_[peer].received, signature_); });
    each_peer(step.send, [&](int peer) { ++flows_[peer].sent; });
  }
  // Of an exchange: each hop is one slice of every flow.
  WEFT_DEV void end_hop(const Step& step) {
    if (!exchange_) return;
    received_ += step.recv.any() ? 1 : 0;
    sent_ += step.send.any() ? 1 : 0;
  }
  WEFT_DEV bool end_loop() {
    if (!exchange_) return true;
    block_.sync();
    return !block_.stopped();
  }
  WEFT_DEV bool save() {
    if (exchange_ && crosses_sweep()) sweep_exchange();
    block_.sync();
    block_.each(size_, [&](size_t peer) {
      flows_[int(peer)].sent += sent_;
      flows_[int(peer)].received += received_;
    });
    flows_.save();
    return !block_.stopped();
  }

 private:
  static constexpr size_t kPackLines = 2 * kPackBytes;  // bytes of one pack's lines
  static constexpr uint32_t kSweepEvery = 1 << 11;      // slices; slots divide it

  WEFT_DEV uint32_t flag_of(uint32_t counter) const {
    return counter << 16 | ((signature_ ^ signature_ >> 16) & 0xffff);
  }

  template <class F>
  WEFT_DEV void each_peer(const Peers& peers, F f) const {
    const int count = peers.candidates(size_);
    WEFT_ROLLED
    for (int i = 0; i < count; ++i) {
      const int peer = peers.at(i, self_);
      if (peer >= 0) f(peer);
    }
  }

  WEFT_DEV void wait_room(const Step& step) const {
    each_peer(step.send, [&](int peer) {
      const uint32_t free = flows_[peer].sent + 1 - flows_.fifo().slots;
      if (!block_.stopped())
        wait_word(waits_, flows_.credit_of(peer),
                  flows_.site(Fault::kCredit, peer, flag_word(free, signature_)));
    });
  }

  // A look beside the polls, now and then. `flag` is of the first line.
  WEFT_DEV bool leaves(const Source& source, uint32_t flag, Patience& patience) const {
    const WaitSite site =
        flows_.site(Fault::kData, source.peer, flag_word(source.flag >> 16, signature_));
    const uint64_t seen = flag_word(flag >> 16, flag & 0xffff);
    if (flag >> 16 != source.flag >> 16 || flag == source.flag)
      return must_leave(waits_, site, seen, patience);
    leave(waits_, Fault::kMismatch, site, seen);
    return true;
  }

  // Marks lines as of a slice long past. `first`: leaves out the packs before.
  WEFT_DEV void clear_slot(char* slot, uint32_t counter, size_t first) const {
    const uint32_t flag = counter << 16;
    const size_t lines = flows_.fifo().slot_bytes / kPackBytes;
    block_.each(lines - first * 2, [&](size_t line) {
      platform::store_line(slot + (first * 2 + line) * kPackBytes, {{0, flag, 0, flag}});
    });
  }
  WEFT_DEV void sweep_slot(int peer) const {
    const uint32_t k = flows_[peer].received;
    if (k % kSweepEvery < flows_.fifo().slots) clear_slot(flows_.in_slot(peer, k), k, 0);
  }

  WEFT_DEV bool crosses_sweep() const {
    const uint32_t begun = flows_[self_ == 0 ? 1 : 0].received;
    return begun / kSweepEvery != (begun + received_) / kSweepEvery;
  }
  // Between two rounds in which all ranks hear of all others.
  WEFT_DEV void sweep_exchange() {
    block_.sync();
    WEFT_ROLLED
    for (int round = 0; round < 2; ++round) {
      block_.each(size_, [&](size_t peer) {
        if (int(peer) != self_) put(target(int(peer)), 0, Pack<Uint8>{});
      });
      block_.each(size_, [&](size_t peer) {
        if (int(peer) != self_) get<Uint8>(source(int(peer)), 0);
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
      if (peer != self_) clear_slot(flows_.in_slot(peer, i), flows_[peer].received + received_, 1);
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
