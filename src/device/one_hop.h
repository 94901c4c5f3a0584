// Collectives of one hop over lines, the shortest operations: everybody gives packs to some ranks
// and takes packs from some. What engine.h does with the two steps of a pattern that first only
// sends and then only receives (algorithms/patterns/direct.h), written out, so that ranks may mix
// the two kernels. Here time is the number of instructions and of waits for memory, one after the
// other, between the launch and the lines (docs/performance.md). Owns: the order of loads, gives
// and takes; one slice a channel. Does not own: slots, flags, credits and sweeps, whose rules are
// those of lines.h.
//
// What takes long is under way early, and beside each other: every lane loads its first pack and
// the counter by itself, so that the first line leaves without a barrier. Bookkeeping is done by
// the last wave while lines are on their way; a fence of its last lane orders that, so that behind
// the last barrier nothing is waited for (turn.h).
#pragma once

#include "device/line_channel.h"
#include "device/ll.h"
#include "device/ll128.h"
#include "device/turn.h"

namespace weft {

// All ranks' packs make one, their sum, folded in the order of ranks and rounded once.
template <class Element>
struct Folded {
  using Type = Element;
  static constexpr bool kFolds = true;
};
// The packs of each rank go to where they belong.
struct Apart {
  using Type = Uint8;
  static constexpr bool kFolds = false;
};

// The lanes that move packs: all but the last wave, if there is another one.
class Movers {
 public:
  explicit WEFT_DEV Movers(const Block& block) : block_(block) {}

  WEFT_DEV unsigned lane() const { return block_.lane(); }
  WEFT_DEV unsigned width() const {
    return block_.width() > kWaveLanes ? block_.width() - kWaveLanes : block_.width();
  }
  WEFT_DEV bool any() const { return lane() < width(); }  // is the calling lane among them
  template <class F>
  WEFT_DEV void each(uint32_t n, F f) const {
    WEFT_ROLLED
    for (uint32_t i = lane(); i < n; i += width()) f(i);
  }

 private:
  const Block& block_;
};

// Where the last wave tells the others how many operations there were before this kernel.
WEFT_DEV uint32_t* sequence_of(const Block& block) {
  return static_cast<uint32_t*>(scratch_at(block, flows_at()));
}

// One channel.
template <class Format, class How>
class OneHop {
  using Type = typename How::Type;
  using Storage = typename Type::storage;
  using Unit = typename Format::Unit;

 public:
  WEFT_DEV OneHop(const Block& block, const OneHopArgs& args, Waits& waits, uint32_t channel)
      : block_(block),
        args_(args),
        comm_(args.comm),
        work_(args.work),
        waits_(waits),
        channel_(channel),
        reports_(reports_of(args)),
        peers_(platform::kIndexesArguments ? args.peer : args.comm.peers),
        lines_(block, args.comm, peers_, waits, args.work.region, args.work.signature, channel,
               LineChannel<Format>::begun_of(args.comm, args.work.region, channel)),
        start_(uint32_t(work_.chunking.share(channel).start)),
        packs_(uint32_t(work_.chunking.share(channel).size())),
        first_(args.gives_to == 0 ? Pack<Type>{}
                                  : own(Format::first(Movers(block), packs_), first_peer())) {}

  // False: a wait gave up and the block leaves.
  WEFT_DEV bool run() {
    const bool refused = Format::any(reports_ != 0 || block_.stopped());
    if (refused) leave_if_any(reports_, waits_);
    if (!lines_.exchanges() && !wait_room(refused)) return false;
    const uint32_t slices = lines_.with_sweep(1);
    WEFT_ROLLED
    for (uint32_t slice = 0; slice < slices; ++slice) {
      const uint32_t packs = slice == 0 ? packs_ : 1;
      bool first = slice == 0;
      each_pack(refused ? 0 : packs, [&](const Unit& unit) {
        give(unit, slice, first);
        first = false;
      });
      block_.sync();  // all have read the counters
      if (block_.stopped()) return false;
      waits_.sequence = *sequence_of(block_);
      if (slice == 0 && in_last_wave(block_)) keep_books(slices);
      each_pack(packs, [&](const Unit& unit) { take(unit, slice); });
      if (slices > 1 && !end_round(slice)) return false;
    }
    return lines_.exchanges() || give_credits();
  }

 private:
  template <class F>
  WEFT_DEV void each_pack(uint32_t packs, F f) const {
    const Movers movers(block_);
    if (movers.any()) Format::each_pack(movers, packs, f);
  }

  WEFT_DEV int first_peer() const { return platform::lowest_bit(args_.gives_to); }

  // ---- Packs ----

  WEFT_DEV void give(const Unit& unit, uint32_t slice, bool first) {
    Pack<Type> pack = first_;
    WEFT_ROLLED
    for (uint32_t peers = args_.gives_to; peers != 0; peers &= peers - 1) {
      const int peer = platform::lowest_bit(peers);
      if (peer == first_peer() ? !first : work_.input_stride != 0) pack = own(unit, peer);
      lines_.put(peer, slice, unit, pack);
    }
  }

  WEFT_DEV void take(const Unit& unit, uint32_t slice) {
    const uint32_t own_bit = args_.has_own ? 1u << comm_.rank : 0;
    const Pack<Type> mine = args_.has_own ? own(unit, comm_.rank) : Pack<Type>{};
    Partial<Type> sum{};
    bool empty = true;
    WEFT_ROLLED
    for (uint32_t ranks = args_.takes_from | own_bit; ranks != 0; ranks &= ranks - 1) {
      const int rank = platform::lowest_bit(ranks);
      const Pack<Type> next =
          rank == comm_.rank ? mine : lines_.template get<Type>(rank, slice, unit);
      if constexpr (How::kFolds) {
        sum = empty ? unpack(next) : combine<Sum>(sum, unpack(next), work_.op);
        empty = false;
      } else if (slice == 0) {
        keep(unit, rank, next);
      }
    }
    if constexpr (How::kFolds)
      if (slice == 0 && args_.has_own) keep(unit, 0, repack(post(sum, work_.op)));
  }

  // A lane may stand for no pack.
  WEFT_DEV bool has_pack(const Unit& unit) const { return index_of(unit) < packs_; }
  WEFT_DEV Pack<Type> own(const Unit& unit, int segment) const {
    if (!has_pack(unit)) return {};
    const char* input =
        static_cast<const char*>(work_.input) + segment * work_.input_stride * sizeof(Storage);
    const size_t index = start_ + index_of(unit);
    const auto all = Input<Type>::of(input, work_.chunking.count);
    return pre(args_.whole_packs     ? load_pack<Type>(input + index * kPackBytes)
               : Format::kWholePacks ? all.load_whole(index)
                                     : all.load(index),
               work_.op);
  }
  WEFT_DEV void keep(const Unit& unit, int segment, const Pack<Type>& pack) const {
    if (Format::kLanesWithout && !has_pack(unit)) return;
    char* output =
        static_cast<char*>(work_.output) + segment * work_.output_stride * sizeof(Storage);
    const size_t index = start_ + index_of(unit);
    const auto all = Output<Type>::of(output, work_.chunking.count);
    if (args_.whole_packs) return store_pack(output + index * kPackBytes, pack);
    Format::kWholePacks ? all.store_whole(index, pack) : all.store(index, pack);
  }

  // ---- Beside the lines ----

  // Nobody waits for any of it.
  WEFT_DEV void keep_books(uint32_t slices) const {
    if (lines_.exchanges())
      by_last_wave(block_, comm_.size, [&](int peer) {
        const FlowCounters before = lines_.begun(peer);
        lines_.counters(peer) = {before.sent + slices, before.received + slices};
      });
    if (channel_ == block_.index()) count_operations(block_, args_, waits_.sequence);
    platform::meet_in_wave();
    if (is_last_lane(block_)) platform::release_device();  // partner: as of end_kernel's
    if (channel_ == 0) announce();  // which nothing waits for: no fence orders it
  }
  WEFT_DEV void announce() const {
    by_last_wave(block_, comm_.size, [&](int peer) {
      char* outbox = peers_[peer].outbox;
      if (outbox == nullptr) return;
      platform::note64(&comm_.box.header(outbox)->wire_version, comm_.wire_version);
      platform::note64(&comm_.box.header(outbox)->call,
                       flag_word(waits_.sequence + 1, work_.signature));
    });
  }

  // Slots are cleared between two rounds in which all ranks hear of all others.
  WEFT_DEV bool end_round(uint32_t slice) const {
    block_.sync();
    if (block_.stopped()) return false;
    if (slice == 1) lines_.clear_inboxes(kSweepRounds);
    return true;
  }

  // ---- Streams: slots that were taken are free again ----

  WEFT_DEV bool wait_room(bool refused) const {
    if (!refused)
      by_last_wave(block_, comm_.size, [&](int peer) {
        if ((args_.gives_to >> peer & 1) == 0) return;
        const uint32_t room = lines_.begun(peer).sent + 1 - lines_.fifo().slots;
        wait_word(waits_, lines_.fifo().credit(peers_[peer].inbox, channel_),
                  lines_.site(Fault::kCredit, peer, flag_word(room, work_.signature)));
      });
    block_.sync();
    return !block_.stopped();
  }
  WEFT_DEV bool give_credits() const {
    complete(block_);
    if (block_.stopped()) return false;
    WEFT_ROLLED
    for (uint32_t peers = args_.takes_from; peers != 0; peers &= peers - 1) {
      const int peer = platform::lowest_bit(peers);
      const uint32_t counter = lines_.begun(peer).received;
      if (is_swept<Format>(lines_.fifo(), counter))
        clear_slot<Format>(block_, lines_.fifo(), lines_.slot(peers_[peer].inbox, counter), counter,
                           0);
    }
    complete(block_);
    by_last_wave(block_, comm_.size, [&](int peer) {
      FlowCounters& now = lines_.counters(peer);
      if ((args_.gives_to >> peer & 1) != 0) ++now.sent;
      if ((args_.takes_from >> peer & 1) == 0) return;
      ++now.received;
      platform::release_system();  // partner: the peer's stores after wait_room()
      platform::post64(lines_.fifo().credit(peers_[peer].outbox, channel_),
                       flag_word(now.received, work_.signature));
    });
    if (is_last_lane(block_)) platform::release_device();  // partner: as of end_kernel's
    return true;
  }

  const Block& block_;
  const OneHopArgs& args_;
  const DeviceComm& comm_;
  const Work& work_;
  Waits& waits_;
  const uint32_t channel_;
  const uint32_t reports_;
  const DevicePeer* const peers_;
  LineChannel<Format> lines_;
  const uint32_t start_, packs_;
  const Pack<Type> first_;  // of this lane, for the first peer
};

template <class Format, class How>
struct OneHopKernel {
  static constexpr const char* kName = "weft_one_hop";

  WEFT_DEV void operator()(const Block& block, const OneHopArgs& args) const {
    Waits waits = begin_kernel(block, args);
    if (in_last_wave(block)) waits.sequence = operations_begun(block, args);
    if (is_last_lane(block)) *sequence_of(block) = waits.sequence;
    WEFT_ROLLED
    for (uint32_t channel = block.index(); channel < args.work.chunking.channels;
         channel += block.grid()) {
      if (!OneHop<Format, How>(block, args, waits, channel).run()) break;
      block.sync();
      if (block.stopped()) break;
    }
    end_released_kernel(block, args, waits);
  }
};

// Null where the platform leaves these lines, or this type, to the engine.
template <class Format, class How>
const void* one_hop_kernel() {
  constexpr bool kFoldsBytes = How::kFolds && sizeof(typename How::Type::storage) == 1;
  if constexpr ((Format::kLanesWithout || kFoldsBytes) && !platform::kHasEveryOneHop) {
    return nullptr;
  } else {
    return platform::kernel_address<OneHopKernel<Format, How>, OneHopArgs>();
  }
}

}  // namespace weft
