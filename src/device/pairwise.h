// The kernel of messages: sends and receives of one group, side by side. Each channel works on all
// messages that have a part on it, whichever can go on next, so no order of messages can block
// another one. Owns: which message is next, the copy of a slice. Does not own: what a flow is
// (flows.h), how messages are dealt to channels (messages.cc).
//
// Invariants
//  1. Slots, flags and credits are those of Simple (simple.h), in a region of their own: a message
//  is matched by its flow, (peer, order), whatever collectives run in between.
//  2. A message is whole slices; its first channel carries one even if it is empty. Flags carry the
//  signature of the message, so ends that differ in size are found.
//  3. Of the messages of one flow only the first unfinished one moves.
//  4. A send ends when its slices lie in slots: up to `slots` slices need no receiver (invariant 9
//  of the design).
//  5. A channel of a rank waits for the same channel of other ranks only, and a block takes its
//  channels in ascending order: any grid is right.
#pragma once

#include "device/flows.h"
#include "device/pack.h"
#include "device/turn.h"

namespace weft {

// Bytes between two user buffers, or a user buffer and a slot: a slot holds whole packs.
WEFT_DEV void copy_bytes(const Block& block, const Input<Uint8>& from, const Output<Uint8>& to) {
  const size_t bytes = from.elems < to.elems ? from.elems : to.elems;
  size_t done = 0;
  const auto batch = [&]<int kCount>(size_t first, size_t stride) {
    Pack<Uint8> pack[kCount];
    for (int k = 0; k < kCount; ++k)
      pack[k] = load_pack<Uint8>(from.base + (first + k * stride) * kPackBytes);
    for (int k = 0; k < kCount; ++k)
      store_pack(to.base + (first + k * stride) * kPackBytes, pack[k]);
  };
  if (from.aligned && to.aligned)
    done = block.template each_batch<platform::kPacksInFlight>(bytes / kPackBytes, batch);
  block.each(packs_for<Uint8>(bytes) - done,
             [&](size_t i) { to.store(done + i, from.load(done + i)); });
}

class MessageChannel {
 public:
  WEFT_DEV MessageChannel(const Block& block, const PairwiseArgs& args, const Waits& waits,
                          uint32_t channel)
      : block_(block),
        args_(args),
        waits_(waits),
        channel_(channel),
        flows_(block, args.comm, Region::kPairwise, channel, scratch_at(block, flows_at())),
        left_(static_cast<uint32_t*>(scratch_at(block, tasks_at(args.comm.size)))),
        before_(left_ + kMaxTasks),
        picked_(before_ + kMaxTasks) {}

  // False: a wait gave up and the block leaves.
  WEFT_DEV bool run() {
    block_.each(args_.tasks, [&](size_t t) {
      left_[t] = slices(args_.task[t]);
      before_[t] = before(args_.task[t]);
    });
    block_.sync();
    if (block_.stopped()) return false;
    for (;;) {
      if (block_.leader()) {
        *picked_ = pick();
        platform::acquire_system();  // partner: the release in hand_over()
      }
      block_.sync();
      const uint32_t picked = *picked_;
      if (block_.stopped()) return false;
      if (picked == kNone) break;
      move(args_.task[picked], left_[picked]);
      hand_over(args_.task[picked], left_[picked]);
    }
    flows_.save();
    return true;
  }

 private:
  static constexpr uint32_t kNone = ~0u;

  // Where this channel comes among those of a task; at least task.channels: it has no part.
  WEFT_DEV uint32_t position(const Task& task) const {
    const uint32_t channels = args_.comm.box.channels;
    return (channel_ + channels - task.first_channel) % channels;
  }
  WEFT_DEV Packs part(const Task& task) const {
    return Packs{}.part(task.share_packs, task.longer_shares, position(task));
  }
  WEFT_DEV uint32_t slice_packs() const { return flows_.fifo().slot_bytes / kPackBytes; }
  WEFT_DEV uint32_t slices(const Task& task) const {
    if (position(task) >= task.channels) return 0;
    const auto count = uint32_t((part(task).size() + slice_packs() - 1) / slice_packs());
    return count > 0 || position(task) > 0 || task.kind == Task::kCopy ? count : 1;
  }
  // The one before it in its flow that has a part on this channel, or kNone.
  WEFT_DEV uint32_t before(const Task& task) const {
    int t = task.after;
    WEFT_ROLLED
    while (t >= 0 && slices(args_.task[t]) == 0) t = args_.task[t].after;
    return uint32_t(t);
  }

  // A task whose next slice can move. By the leader.
  WEFT_DEV uint32_t pick() {
    Patience patience;
    WEFT_ROLLED
    for (unsigned spins = 1;; ++spins) {
      uint32_t first_waiting = kNone;
      WEFT_ROLLED
      for (uint32_t t = 0; t < args_.tasks; ++t) {
        const Task& task = args_.task[t];
        if (left_[t] == 0 || (before_[t] != kNone && left_[before_[t]] != 0)) continue;
        if (can_move(task)) {
          platform::poll_hit();
          return t;
        }
        if (block_.stopped()) return kNone;
        if (first_waiting == kNone) first_waiting = t;
      }
      if (first_waiting == kNone) return kNone;
      const Task& task = args_.task[first_waiting];
      if (spins % platform::kSpinsPerCheck == 0 && must_leave(waits_, site(task), 0, patience))
        return kNone;
    }
  }

  WEFT_DEV bool can_move(const Task& task) const {
    if (task.kind == Task::kCopy) return true;
    const Flow& flow = flows_[task.peer];
    if (task.kind == Task::kSend) {
      const uint64_t* credit = flows_.credit_of(task.peer);
      if (reached(flag_counter(platform::poll64(credit)), flow.sent + 1 - flows_.fifo().slots))
        return true;
      platform::poll_miss(credit);
      return false;
    }
    const uint64_t* ready = flows_.ready_of(task.peer, flow.received);
    const uint64_t word = platform::poll64(ready);
    if (flag_counter(word) != flow.received + 1) {
      platform::poll_miss(ready);
      return false;
    }
    if (flag_signature(word) == task.signature) return true;
    leave(waits_, Fault::kMismatch, site(task), word);
    return false;
  }
  WEFT_DEV WaitSite site(const Task& task) const {
    const Flow& flow = flows_[task.peer];
    const bool sends = task.kind == Task::kSend;
    const uint32_t counter = sends ? flow.sent + 1 - flows_.fifo().slots : flow.received + 1;
    return {sends ? Fault::kMessageRoom : Fault::kMessage, uint32_t(task.peer), channel_,
            flag_word(counter, task.signature), nullptr};
  }

  WEFT_DEV void move(const Task& task, uint32_t left) const {
    const Packs all = part(task);
    const size_t first = (all.start + size_t(slices(task) - left) * slice_packs()) * kPackBytes;
    const size_t end = all.end * kPackBytes < task.bytes ? all.end * kPackBytes : task.bytes;
    const size_t most = size_t(slice_packs()) * kPackBytes;
    const size_t bytes = first >= end ? 0 : (end - first < most ? end - first : most);
    const auto user_input = [&] {
      return Input<Uint8>::of(static_cast<const char*>(task.from) + first, bytes);
    };
    const auto user_output = [&] {
      return Output<Uint8>::of(static_cast<char*>(task.to) + first, bytes);
    };
    if (task.kind == Task::kCopy) return copy_bytes(block_, user_input(), user_output());
    const Flow& flow = flows_[task.peer];
    if (task.kind == Task::kSend)
      copy_bytes(block_, user_input(),
                 Output<Uint8>::of(flows_.out_slot(task.peer, flow.sent), most));
    else
      copy_bytes(block_, Input<Uint8>::of(flows_.in_slot(task.peer, flow.received), most),
                 user_output());
  }

  // The block has read its source and written its target.
  WEFT_DEV void hand_over(const Task& task, uint32_t& left) const {
    complete(block_);
    if (!block_.leader()) return;
    --left;
    if (task.kind == Task::kCopy) return;
    Flow& flow = flows_[task.peer];
    platform::release_system();  // partner: the acquire in run()
    if (task.kind == Task::kSend)
      flows_.post_ready(task.peer, flow.sent++, task.signature);
    else
      flows_.post_credit(task.peer, ++flow.received, task.signature);
  }

  const Block& block_;
  const PairwiseArgs& args_;
  const Waits& waits_;
  const uint32_t channel_;
  const Flows flows_;
  uint32_t* const left_;    // slices of each task still to move on this channel
  uint32_t* const before_;  // which task each comes after on this channel
  uint32_t* const picked_;  // the leader tells the lanes
};

struct PairwiseKernel {
  static constexpr const char* kName = "weft_messages";

  WEFT_DEV void operator()(const Block& block, const PairwiseArgs& args) const {
    const Waits waits = begin_kernel(block, args);
    run(block, args, waits);
    end_kernel(block, args, waits, waits.sequence);
  }

 private:
  WEFT_DEV void run(const Block& block, const PairwiseArgs& args, const Waits& waits) const {
    uint32_t used = 0;  // blocks take turns at the channels that have messages
    WEFT_ROLLED
    for (uint32_t channel = 0; channel < args.comm.box.channels; ++channel)
      if ((args.channels_used[channel / 64] >> channel % 64 & 1) != 0 &&
          used++ % block.grid() == block.index() &&
          !MessageChannel(block, args, waits, channel).run())
        return;
  }
};

}  // namespace weft
