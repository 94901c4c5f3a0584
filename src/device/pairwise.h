// The kernel of messages: sends and receives of one group, side by side. Each channel works on all
// messages that have a part on it, whichever can go on next, so no order of messages can block
// another one. Owns: which message is next, the copy of a slice. Does not own: what a flow is
// (flows.h), how messages are dealt to channels (messages.cc).
//
// Invariants
//  1. Slots, flags and credits are those of Simple (simple.h), in a region of their own, or, of
//  messages that are short, those of a stream of lines (message_lines.h), in another one: a message
//  is matched by its flow, (peer, order), whatever collectives run in between.
//  2. A message is whole slices; its first channel carries one even if it is empty. Flags carry the
//  signature of the message, so ends that differ in size are found.
//  3. Of the messages of one flow only the first unfinished one moves.
//  4. A send ends when its slices lie in slots: up to `slots` slices need no receiver (invariant 9
//  of the design). Not one by zero-copy (5): it ends when it was read.
//  5. Zero-copy: a sender whose buffer the receiver reaches gives one slice, a card with the
//  address, whose flag says so; the receiver copies its whole part from there and then gives the
//  credit, with which the send ends. That is the sender's choice alone.
//  6. A channel of a rank waits for the same channel of other ranks only, and a block takes its
//  channels in ascending order: any grid is right.
#pragma once

#include "device/message_lines.h"
#include "device/turn.h"

namespace weft {

// Bytes between two user buffers, or a user buffer and a slot: a slot holds whole packs.
WEFT_DEV void copy_bytes(const Block& block, const Input<Uint8>& from, const Output<Uint8>& to) {
  const size_t bytes = from.elems < to.elems ? from.elems : to.elems;
  const auto batch = [&]<int kCount>(uint32_t first, uint32_t stride, uint32_t left) {
    // Where there are not as many packs, the first once more.
    const auto at = [&](uint32_t k) {
      return size_t(first + (k * stride < left ? k * stride : 0)) * kPackBytes;
    };
    Pack<Uint8> pack[kCount];
    for (uint32_t k = 0; k < kCount; ++k) pack[k] = load_pack<Uint8>(from.base + at(k));
    for (uint32_t k = 0; k < kCount; ++k) store_pack(to.base + at(k), pack[k]);
  };
  const uint32_t done = from.aligned && to.aligned ? uint32_t(bytes / kPackBytes) : 0;
  block.template each_batch<platform::kPacksInFlight>(done, batch);
  block.each(packs_for<Uint8>(bytes) - done,
             [&](size_t i) { to.store(done + i, from.load(done + i)); });
}

// Args: PairwiseArgs or ShortMessageArgs.
template <class Args>
class MessageChannel {
 public:
  WEFT_DEV MessageChannel(const Block& block, const Args& args, const Waits& waits,
                          uint32_t channel)
      : block_(block),
        args_(args),
        waits_(waits),
        channel_(channel),
        flows_(block, args.comm, Region::kPairwise, channel, scratch_at(block, flows_at())),
        lines_(block, args.comm, Region::kLlPairwise, channel,
               scratch_at(block, line_flows_at(args.comm.size))),
        left_(static_cast<uint32_t*>(scratch_at(block, tasks_at(args.comm.size)))),
        before_(left_ + kMaxTasks),
        picked_(before_ + kMaxTasks) {}

  // False: a wait gave up and the block leaves.
  WEFT_DEV bool run() {
    block_.each(args_.tasks, [&](size_t t) {
      left_[t] = slices(args_.task[t]);
      before_[t] = before(int(t));
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
      const bool pulls = (picked & kPulls) != 0;
      const Task& task = args_.task[picked & ~kPulls];
      uint32_t& left = left_[picked & ~kPulls];
      pulls ? pull(task) : move(task, left);
      if (pulls || task.lines) {  // perhaps not to the end
        block_.sync();
        if (block_.stopped()) return false;
      }
      hand_over(task, left, pulls);
    }
    flows_.save();
    lines_.save();
    return true;
  }

 private:
  static constexpr uint32_t kNone = ~0u;
  static constexpr uint32_t kPulls = 1u << 31;  // beside a picked task: its slice is a card
  static constexpr uint32_t kCard = 1u << 31;   // changed in the signature of a card
  static constexpr size_t kBytesPerLook = 2 << 20;

  // Where this channel comes among those of a task; at least task.channels: it has no part.
  WEFT_DEV uint32_t position(const Task& task) const {
    return MessagePart::position_of(task, channel_, args_.comm.box.channels);
  }
  WEFT_DEV Packs part(const Task& task) const {
    return Packs{}.part(task.share_packs, task.longer_shares, position(task));
  }
  WEFT_DEV uint32_t slice_packs() const { return flows_.fifo().slot_bytes / kPackBytes; }
  WEFT_DEV uint32_t slices(const Task& task) const {
    if (position(task) >= task.channels) return 0;
    if (by_lines(task)) return line_part(task).units > 0 ? 1 : 0;
    if (gives_card(task)) return 2;  // the card, and its credit
    const auto count = uint32_t((part(task).size() + slice_packs() - 1) / slice_packs());
    return count > 0 || position(task) > 0 || task.kind == Task::kCopy ? count : 1;
  }
  static WEFT_DEV bool gives_card(const Task& task) {
    return task.kind == Task::kSend && task.to != nullptr;
  }
  static WEFT_DEV bool by_lines(const Task& task) { return task.lines && task.kind != Task::kCopy; }
  WEFT_DEV MessagePart line_part(const Task& task) const {
    return MessagePart::of(task, channel_, args_.comm.box.channels);
  }
  // f(flows of the task): no reference, which would put both into memory.
  template <class F>
  WEFT_DEV auto with_flows(const Task& task, F f) const {
    return by_lines(task) ? f(lines_) : f(flows_);
  }
  WEFT_DEV Flow& flow_of(const Task& task) const {
    return *with_flows(task, [&](const Flows& flows) { return &flows[task.peer]; });
  }
  // The one before it in its flow that has a part on this channel, or kNone.
  WEFT_DEV uint32_t before(int t) const {
    const Task& task = args_.task[t];
    WEFT_ROLLED
    for (int u = t - 1; u >= 0; --u) {
      const Task& other = args_.task[u];
      if (other.peer == task.peer && other.kind == task.kind && slices(other) > 0)
        return uint32_t(u);
    }
    return kNone;
  }

  // A task whose next slice can move, with kPulls where that is a card. By the leader.
  WEFT_DEV uint32_t pick() {
    Patience patience;
    WEFT_ROLLED
    for (unsigned spins = 1;; ++spins) {
      uint32_t first_waiting = kNone;
      WEFT_ROLLED
      for (uint32_t t = 0; t < args_.tasks; ++t) {
        const Task& task = args_.task[t];
        if (left_[t] == 0 || (before_[t] != kNone && left_[before_[t]] != 0)) continue;
        bool pulls = false;
        if (can_move(task, left_[t], pulls)) {
          platform::poll_hit();
          return pulls ? t | kPulls : t;
        }
        if (block_.stopped()) return kNone;
        if (first_waiting == kNone) first_waiting = t;
      }
      if (first_waiting == kNone) return kNone;
      const Task& task = args_.task[first_waiting];
      if (spins % platform::kSpinsPerCheck == 0 &&
          (must_leave(waits_, site(task, left_[first_waiting]), 0, patience) || misses(patience)))
        return kNone;
    }
  }
  // Whether a message that is waited for came the other way (message_lines.h).
  WEFT_DEV bool misses(Patience& patience) const {
    WEFT_ROLLED
    for (uint32_t t = 0; t < args_.tasks; ++t) {
      const Task& task = args_.task[t];
      if (task.kind != Task::kRecv || left_[t] == 0 ||
          (before_[t] != kNone && left_[before_[t]] != 0))
        continue;
      const uint64_t seen = task.lines ? next_by_slots(task).seen() : next_by_lines(task).seen();
      if (seen == 0) continue;
      return lasts(patience) && (leave(waits_, Fault::kMismatch, site(task, left_[t]), seen), true);
    }
    patience.peer_ahead = 0;
    return false;
  }
  WEFT_DEV NextBySlots next_by_slots(const Task& task) const {
    return {flows_.ready_of(task.peer, 0), flows_.fifo().slots, &flows_[task.peer].received};
  }
  WEFT_DEV NextByLines next_by_lines(const Task& task) const {
    const uint32_t received = lines_[task.peer].received;
    return {lines_.in_slot(task.peer, received), received + 1};
  }

  // The credit that a send waits for: for room, or for its card.
  WEFT_DEV uint32_t credit_for(const Task& task, uint32_t left) const {
    const bool card_given = gives_card(task) && left == 1;
    return with_flows(task, [&](const Flows& flows) {
      return flows[task.peer].sent + (card_given ? 0 : 1 - flows.fifo().slots);
    });
  }
  WEFT_DEV bool can_move(const Task& task, uint32_t left, bool& pulls) const {
    if (task.kind == Task::kCopy) return true;
    const Flow& flow = flows_[task.peer];
    if (task.kind == Task::kSend) {
      const uint64_t* credit =
          with_flows(task, [&](const Flows& flows) { return flows.credit_of(task.peer); });
      if (reached(flag_counter(platform::poll64(credit)), credit_for(task, left))) return true;
      platform::poll_miss(credit);
      return false;
    }
    if (task.lines) return awaited(task).came(waits_);
    const uint64_t* ready = flows_.ready_of(task.peer, flow.received);
    const uint64_t word = platform::poll64(ready);
    if (flag_counter(word) != flow.received + 1) {
      platform::poll_miss(ready);
      return false;
    }
    pulls = flag_signature(word) == (task.signature ^ kCard);
    if (pulls || flag_signature(word) == task.signature) return true;
    leave(waits_, Fault::kMismatch, site(task, left), word);
    return false;
  }
  WEFT_DEV WaitSite site(const Task& task, uint32_t left) const {
    const bool sends = task.kind == Task::kSend;
    const uint32_t counter = sends ? credit_for(task, left) : flow_of(task).received + 1;
    return {sends ? Fault::kMessageRoom : Fault::kMessage, uint32_t(task.peer), channel_,
            flag_word(counter, task.signature), nullptr};
  }

  WEFT_DEV AwaitedLines awaited(const Task& task) const {
    const uint32_t received = lines_[task.peer].received;
    return {lines_.in_slot(task.peer, received), LlFormat::flag(received + 1, task.signature),
            task.signature, next_by_slots(task), site(task, 1)};
  }
  WEFT_DEV void move_lines(const Task& task) const {
    const MessagePart part = line_part(task);
    if (task.kind == Task::kSend) {
      const uint32_t sent = lines_[task.peer].sent;
      block_.each(part.units, [&](uint32_t unit) {
        LlFormat::store(lines_.out_slot(task.peer, sent), unit,
                        LlFormat::flag(sent + 1, task.signature), part.load(task, unit).bytes);
      });
      return;
    }
    const AwaitedLines lines = awaited(task);
    block_.each(part.units, [&](uint32_t unit) {
      const Pack<Uint8> pack = lines.get(waits_, unit);
      if (!block_.stopped()) part.store(task, unit, pack);
    });
    block_.sync();
    const uint32_t counter = lines_[task.peer].received;
    if (is_swept<LlFormat>(lines_.fifo(), counter))
      clear_slot<LlFormat>(block_, lines_.fifo(), lines_.in_slot(task.peer, counter), counter, 0);
  }

  WEFT_DEV void move(const Task& task, uint32_t left) const {
    if (by_lines(task)) return move_lines(task);
    if (gives_card(task)) {
      if (left == 2 && block_.leader()) *out_card(task) = reinterpret_cast<uint64_t>(task.to);
      return;
    }
    const Packs all = part(task);
    const size_t first = (all.start + size_t(slices(task) - left) * slice_packs()) * kPackBytes;
    const size_t end = all.end * kPackBytes < task.bytes ? all.end * kPackBytes : task.bytes;
    const size_t most = size_t(slice_packs()) * kPackBytes;
    const size_t bytes = first >= end ? 0 : (end - first < most ? end - first : most);
    // A slot holds whole packs.
    const bool sends = task.kind == Task::kSend, receives = task.kind == Task::kRecv;
    const char* from = receives ? flows_.in_slot(task.peer, flows_[task.peer].received)
                                : static_cast<const char*>(task.from) + first;
    char* to = sends ? flows_.out_slot(task.peer, flows_[task.peer].sent)
                     : static_cast<char*>(task.to) + first;
    copy_bytes(block_, Input<Uint8>::of(from, receives ? most : bytes),
               Output<Uint8>::of(to, sends ? most : bytes));
  }

  WEFT_DEV uint64_t* out_card(const Task& task) const {
    return reinterpret_cast<uint64_t*>(flows_.out_slot(task.peer, flows_[task.peer].sent));
  }
  // This channel's part, from where the sender has it.
  WEFT_DEV void pull(const Task& task) const {
    if (block_.leader()) flows_.note_zero_copy();
    const char* slot = flows_.in_slot(task.peer, flows_[task.peer].received);
    const auto* from = reinterpret_cast<const char*>(*reinterpret_cast<const uint64_t*>(slot));
    const size_t end =
        part(task).end * kPackBytes < task.bytes ? part(task).end * kPackBytes : task.bytes;
    WEFT_ROLLED
    for (size_t at = part(task).start * kPackBytes; at < end; at += kBytesPerLook) {
      const bool first = at == part(task).start * kPackBytes;
      if (block_.leader()) leave_if_withdrawn(task, !first && given_up(waits_));
      block_.sync();
      if (block_.stopped()) return;
      const size_t bytes = end - at < kBytesPerLook ? end - at : kBytesPerLook;
      copy_bytes(block_, Input<Uint8>::of(from + at, bytes),
                 Output<Uint8>::of(static_cast<char*>(task.to) + at, bytes));
    }
  }
  // By the leader; or if it knows another reason.
  WEFT_DEV void leave_if_withdrawn(const Task& task, bool leaves) const {
    leaves |= flows_.withdrawn(task.peer);
    platform::acquire_system();  // partner: withdraw() of the peer
    if (leaves) leave(waits_, Fault::kAborted, site(task, 0), 0);
  }

  // The block has read its source and written its target.
  WEFT_DEV void hand_over(const Task& task, uint32_t& left, bool pulled) const {
    complete(block_);
    if (!block_.leader()) return;
    left = pulled ? 0 : left - 1;
    const bool credited = gives_card(task) && left == 0;
    if (task.kind == Task::kCopy || credited) return;
    Flow& flow = flow_of(task);
    if (by_lines(task) && task.kind == Task::kSend) {
      ++flow.sent;  // lines have their flags
      return;
    }
    platform::release_system();  // partner: the acquire in run()
    if (task.kind == Task::kSend)
      flows_.post_ready(task.peer, flow.sent++,
                        gives_card(task) ? task.signature ^ kCard : task.signature);
    else
      give_credit(task, ++flow.received);
  }

  WEFT_DEV void give_credit(const Task& task, uint32_t taken) const {
    with_flows(task,
               [&](const Flows& flows) { flows.post_credit(task.peer, taken, task.signature); });
  }

  const Block& block_;
  const Args& args_;
  const Waits& waits_;
  const uint32_t channel_;
  const Flows flows_, lines_;  // lines_: of tasks that go by lines
  uint32_t* const left_;       // slices of each task still to move on this channel
  uint32_t* const before_;     // which task each comes after on this channel
  uint32_t* const picked_;     // the leader tells the lanes
};

struct PairwiseKernel {
  static constexpr const char* kName = "weft_messages";

  WEFT_DEV void operator()(const Block& block, const PairwiseArgs& args) const {
    Waits waits = begin_kernel(block, args);
    if (is_last_lane(block)) leave_if_any(reports_of(args), waits);
    waits.sequence = operations_begun(block, args);
    run(block, args, waits);
    count_operations(block, args, waits.sequence);
    end_kernel(block, args, waits);
  }

 private:
  WEFT_DEV void run(const Block& block, const PairwiseArgs& args, const Waits& waits) const {
    uint32_t used = 0;  // blocks take turns at the channels that have messages
    WEFT_ROLLED
    for (uint32_t channel = 0; channel < args.comm.box.channels; ++channel)
      if ((args.channels_used[channel / 64] >> channel % 64 & 1) != 0 &&
          used++ % block.grid() == block.index() &&
          !MessageChannel<PairwiseArgs>(block, args, waits, channel).run())
        return;
  }
};

}  // namespace weft
