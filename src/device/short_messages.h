// The kernel of a few short messages, all of which go by lines: what pairwise.h does with them,
// written out in the manner of one_hop.h. Sends, then receives, then credits. Owns: that order.
// Does not own: lines and mismatches (message_lines.h), slots and credits (lines.h).
//
// Invariants
//  1. Nothing is sent before there is room for all that is sent on the channel; if there is not,
//  pairwise.h does the channel, where whatever can go on goes on. So a send that waits for room
//  keeps no other one back.
//  2. Credits are given when all has come. That keeps nobody from what this kernel waits for: a
//  flow has at most as many messages here as slots (planner.cc), so what is sent to it needs room
//  that earlier kernels gave.
//
// The first wave that has a pack loads it while the last wave looks where lines go and whether
// there is room: one wait for memory, one barrier, then lines. The last wave keeps the books while
// they are on their way.
#pragma once

#include "device/one_hop.h"
#include "device/pairwise.h"

namespace weft {

// One channel.
class ShortMessages {
 public:
  WEFT_DEV ShortMessages(const Block& block, const ShortMessageArgs& args, const Waits& waits,
                         uint32_t channel)
      : block_(block),
        args_(args),
        comm_(args.comm),
        waits_(waits),
        channel_(channel),
        fifo_(comm_.box.of(Region::kLlPairwise)),
        slots_(size_t(fifo_.slot(nullptr, comm_.box.channels, channel, 0))),
        at_(static_cast<ShortTask*>(scratch_at(block, short_tasks_at(comm_.size)))) {}

  // False: a wait gave up and the block leaves.
  WEFT_DEV bool run() {
    if constexpr (platform::kIndexesArguments) load_first();
    const uint32_t reports = reports_of(args_);
    if (is_last_lane(block_)) leave_if_any(reports, waits_);
    if (reports == 0 && !block_.stopped())
      by_last_wave(block_, int(args_.tasks), [&](int t) { at_[t] = look(t); });
    block_.sync();
    if (block_.stopped()) return false;
    if (waits()) return run_the_long_way();
    each_unit(true, [&](const Task& task, uint32_t t, uint32_t unit) { give(task, t, unit); });
    if (in_last_wave(block_)) keep_books();
    each_unit(false, [&](const Task& task, uint32_t t, uint32_t unit) { take(task, t, unit); });
    return give_credits();
  }

 private:
  // ---- Before the first line ----

  WEFT_DEV MessagePart part(const Task& task) const {
    return MessagePart::of(task, channel_, comm_.box.channels);
  }
  WEFT_DEV void load_first() {
    WEFT_ROLLED
    for (uint32_t t = args_.tasks; t-- > 0;)
      if (args_.task[t].kind != Task::kRecv && part(args_.task[t]).units > 0) first_task_ = t;
    if (first_task_ == ~0u) return;
    const Task& task = args_.task[first_task_];
    const MessagePart here = part(task);
    if (Movers(block_).lane() < here.units) first_ = here.load(task, Movers(block_).lane());
  }
  WEFT_DEV ShortTask look(int t) const {
    const Task& task = args_.task[t];
    const uint32_t units = part(task).units;
    if (units == 0 || task.kind == Task::kCopy) return {0, units, 0};
    const FlowCounters begun = comm_.counter(Region::kLlPairwise, size_t(task.peer), channel_);
    uint32_t before = 0;
    WEFT_ROLLED
    for (int u = 0; u < t; ++u) {
      const Task& other = args_.task[u];
      if (other.peer == task.peer && other.kind == task.kind && part(other).units > 0) ++before;
    }
    if (task.kind == Task::kRecv) return {begun.received + before, units, 0};
    const uint32_t counter = begun.sent + before;
    return {counter, units, finds_room(task, counter) ? 0u : 1u};
  }
  // Soon.
  WEFT_DEV bool finds_room(const Task& task, uint32_t counter) const {
    constexpr int kLooks = 16;  // some microseconds: as long as the other way costs
    const uint64_t* credit = fifo_.credit(args_.peer[task.peer].inbox, channel_);
    WEFT_ROLLED
    for (int look = 0; look < kLooks; ++look) {
      if (reached(flag_counter(platform::poll64(credit)), counter + 1 - fifo_.slots)) return true;
      platform::poll_miss(credit);
    }
    return false;
  }
  WEFT_DEV bool run_the_long_way() const {
    if (!MessageChannel<ShortMessageArgs>(block_, args_, waits_, channel_).run()) return false;
    complete(block_);
    if (is_last_lane(block_)) platform::release_device();  // partner: as of end_kernel's
    return true;
  }
  WEFT_DEV bool waits() const {
    bool any = false;
    WEFT_ROLLED
    for (uint32_t t = 0; t < args_.tasks; ++t) any |= at_[t].waits != 0;
    return any;
  }

  // ---- Lines ----

  WEFT_DEV char* slot(char* box, uint32_t counter) const {
    return box + slots_ + (counter & (fifo_.slots - 1)) * fifo_.slot_bytes;
  }
  // Of what is given, and of copies, or of what is taken.
  template <class F>
  WEFT_DEV void each_unit(bool given, F f) const {
    const Movers movers(block_);
    if (!movers.any()) return;
    WEFT_ROLLED
    for (uint32_t t = 0; t < args_.tasks; ++t)
      if ((args_.task[t].kind != Task::kRecv) == given)
        movers.each(at_[t].units, [&](uint32_t unit) { f(args_.task[t], t, unit); });
  }

  WEFT_DEV void give(const Task& task, uint32_t t, uint32_t unit) const {
    const MessagePart here = part(task);
    const bool loaded = t == first_task_ && unit == Movers(block_).lane();
    const Pack<Uint8> pack = loaded ? first_ : here.load(task, unit);
    if (task.kind == Task::kCopy) return here.store(task, unit, pack);
    const uint32_t counter = at_[t].counter;
    LlFormat::store(slot(args_.peer[task.peer].outbox, counter), unit,
                    LlFormat::flag(counter + 1, task.signature), pack.bytes);
  }

  WEFT_DEV void take(const Task& task, uint32_t t, uint32_t unit) const {
    if (block_.stopped()) return;
    const uint32_t counter = at_[t].counter;
    char* inbox = args_.peer[task.peer].inbox;
    const AwaitedLines lines{slot(inbox, counter),
                             LlFormat::flag(counter + 1, task.signature),
                             task.signature,
                             next_by_slots(task.peer),
                             {Fault::kMessage, uint32_t(task.peer), channel_,
                              flag_word(counter + 1, task.signature), nullptr}};
    const Pack<Uint8> pack = lines.get(waits_, unit);
    if (!block_.stopped()) part(task).store(task, unit, pack);
  }
  WEFT_DEV NextBySlots next_by_slots(int peer) const {
    const Fifo& fifo = comm_.box.of(Region::kPairwise);
    return {fifo.ready(args_.peer[peer].inbox, channel_), fifo.slots,
            &comm_.counter(Region::kPairwise, size_t(peer), channel_).received};
  }

  // ---- Beside the lines ----

  // The last one of its flow on this channel.
  WEFT_DEV bool is_last(uint32_t t) const {
    const Task& task = args_.task[t];
    if (at_[t].units == 0 || task.kind == Task::kCopy) return false;
    WEFT_ROLLED
    for (uint32_t u = t + 1; u < args_.tasks; ++u)
      if (at_[u].units > 0 && args_.task[u].peer == task.peer && args_.task[u].kind == task.kind)
        return false;
    return true;
  }
  WEFT_DEV void keep_books() const {
    by_last_wave(block_, int(args_.tasks), [&](int t) {
      if (!is_last(uint32_t(t))) return;
      const Task& task = args_.task[t];
      FlowCounters& now = comm_.counter(Region::kLlPairwise, size_t(task.peer), channel_);
      (task.kind == Task::kSend ? now.sent : now.received) = at_[t].counter + 1;
    });
    platform::meet_in_wave();
    if (is_last_lane(block_)) platform::release_device();  // partner: as of end_kernel's
  }

  WEFT_DEV bool give_credits() const {
    complete(block_);
    if (block_.stopped()) return false;
    sweep();
    by_last_wave(block_, int(args_.tasks), [&](int t) {
      const Task& task = args_.task[t];
      if (task.kind != Task::kRecv || !is_last(uint32_t(t))) return;
      platform::release_system();  // partner: the peer's stores after finds_room()
      platform::post64(fifo_.credit(args_.peer[task.peer].outbox, channel_),
                       flag_word(at_[t].counter + 1, task.signature));
    });
    return true;
  }
  WEFT_DEV void sweep() const {
    bool any = false;
    WEFT_ROLLED
    for (uint32_t t = 0; t < args_.tasks; ++t) {
      const uint32_t counter = at_[t].counter;
      if (args_.task[t].kind != Task::kRecv || at_[t].units == 0 ||
          !is_swept<LlFormat>(fifo_, counter))
        continue;
      clear_slot<LlFormat>(block_, fifo_, slot(args_.peer[args_.task[t].peer].inbox, counter),
                           counter, 0);
      any = true;
    }
    if (any) complete(block_);
  }

  const Block& block_;
  const ShortMessageArgs& args_;
  const DeviceComm& comm_;
  const Waits& waits_;
  const uint32_t channel_;
  const Fifo& fifo_;
  const size_t slots_;   // of the channel, from the start of a box
  ShortTask* const at_;  // by task
  uint32_t first_task_ = ~0u;
  Pack<Uint8> first_{};  // of this lane, of the first task that gives
};

struct ShortMessagesKernel {
  static constexpr const char* kName = "weft_short_messages";

  WEFT_DEV void operator()(const Block& block, const ShortMessageArgs& args) const {
    Waits waits = begin_kernel(block, args);
    waits.sequence = operations_begun(block, args);  // for reports: messages are not counted
    WEFT_ROLLED
    for (uint32_t i = block.index(); i < args.channels; i += block.grid()) {
      if (!ShortMessages(block, args, waits, args.channel[i]).run()) break;
      block.sync();
      if (block.stopped()) break;
    }
    end_released_kernel(block, args, waits);
  }
};

}  // namespace weft
