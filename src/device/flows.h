// The flows of one channel of a region, one a peer, while a block works on it: where the peer's
// boxes are, and how far each direction is. Owns: the copy in the block's scratch, taken from
// device memory at the start of a channel and put back at its end, since counters belong to the
// channel, not to a block: the grid may change. Does not own: what the counters mean (protocols).
#pragma once

#include "device/sync.h"

namespace weft {

class Flows {
 public:
  // All lanes; `scratch` is a Flow a rank of the block's own memory.
  WEFT_DEV Flows(const Block& block, const DeviceComm& comm, Region region, uint32_t channel,
                 void* scratch)
      : block_(block),
        comm_(comm),
        fifo_(comm.box.of(region)),
        region_(region),
        channel_(channel),
        flow_(static_cast<Flow*>(scratch)) {
    block_.each(comm_.size, [&](size_t peer) {
      const DevicePeer at = comm_.peers[peer];
      const FlowCounters counters = comm_.counter(region_, peer, channel_);
      flow_[peer] = {at.inbox, at.outbox, counters.sent, counters.received, nullptr, nullptr};
    });
    block_.sync();
  }

  // Tells every peer which call this rank is in (invariant 4 of the design). Nobody waits for it.
  WEFT_DEV void announce(uint32_t sequence, uint32_t signature) const {
    block_.each(comm_.size, [&](size_t peer) {
      if (flow_[peer].outbox == nullptr) return;
      BoxHeader* header = comm_.box.header(flow_[peer].outbox);
      platform::note64(&header->wire_version, comm_.wire_version);
      platform::note64(&header->call, flag_word(sequence, signature));
    });
  }

  // The peer takes its buffers back.
  WEFT_DEV bool withdrawn(int peer) const {
    return platform::poll64(&comm_.box.header(flow_[peer].inbox)->withdrawn) != 0;
  }
  // By one lane.
  WEFT_DEV void note_zero_copy() const { platform::add_device32(&comm_.words->zero_copies, 1); }

  // All lanes, after a barrier behind the last change.
  WEFT_DEV void save() const {
    block_.each(comm_.size, [&](size_t peer) {
      comm_.counter(region_, peer, channel_) = {flow_[peer].sent, flow_[peer].received};
    });
    block_.sync();
  }

  template <class F>
  WEFT_DEV void each_peer(const Peers& peers, F f) const {
    const int count = peers.candidates(comm_.size);
    WEFT_ROLLED
    for (int i = 0; i < count; ++i) {
      const int peer = peers.at(i, comm_.rank);
      if (peer >= 0) f(peer);
    }
  }

  WEFT_DEV Flow& operator[](int peer) const { return flow_[peer]; }
  WEFT_DEV const Fifo& fifo() const { return fifo_; }

  // Slice `counter` of the flow from, or to, a peer.
  WEFT_DEV char* in_slot(int peer, uint32_t counter) const {
    return fifo_.slot(flow_[peer].inbox, comm_.box.channels, channel_,
                      (counter & (fifo_.slots - 1)));
  }
  WEFT_DEV char* out_slot(int peer, uint32_t counter) const {
    return fifo_.slot(flow_[peer].outbox, comm_.box.channels, channel_,
                      (counter & (fifo_.slots - 1)));
  }
  // Words that this rank polls, and that it posts.
  WEFT_DEV const uint64_t* ready_of(int peer, uint32_t counter) const {
    return fifo_.ready(flow_[peer].inbox, channel_) + (counter & (fifo_.slots - 1));
  }
  WEFT_DEV const uint64_t* credit_of(int peer) const {
    return fifo_.credit(flow_[peer].inbox, channel_);
  }
  WEFT_DEV void post_ready(int peer, uint32_t counter, uint32_t signature) const {
    platform::post64(fifo_.ready(flow_[peer].outbox, channel_) + (counter & (fifo_.slots - 1)),
                     flag_word(counter + 1, signature));
  }
  WEFT_DEV void post_credit(int peer, uint32_t taken, uint32_t signature) const {
    platform::post64(fifo_.credit(flow_[peer].outbox, channel_), flag_word(taken, signature));
  }
  // Of a wait for a peer in the same collective call, whose header is compared.
  WEFT_DEV WaitSite site(Fault::Wait wait, int peer, uint64_t expected) const {
    return {wait, uint32_t(peer), channel_, expected, comm_.box.header(flow_[peer].inbox)};
  }

 private:
  const Block& block_;
  const DeviceComm& comm_;
  const Fifo& fifo_;
  const Region region_;
  const uint32_t channel_;
  Flow* const flow_;
};

}  // namespace weft
