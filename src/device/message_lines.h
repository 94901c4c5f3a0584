// Short messages as lines of LL (ll.h), a slice of them a channel. Owns: which packs those are, the
// wait for one of their lines, the look at messages that came the other way. Does not own: slots,
// credits and sweeps, which are those of a stream of lines (lines.h, invariants 1 to 3), in the
// region kLlPairwise; which messages go this way (messages.cc).
//
// Both ends choose by the message alone, so ends that differ in size may choose differently. The
// receiver then sees the sender's next message in the region it does not wait for. What a rank
// sends to another on one channel it sends in order, so what came the other way and lasts is no
// later message (and no lost one): it is a mismatch.
#pragma once

#include "device/ll.h"

namespace weft {

// The packs of a task on one channel.
struct MessagePart {
  uint32_t position;      // of the channel among those of the task; at least task.channels: no part
  uint32_t first, units;  // of a task that goes by lines

  static WEFT_DEV uint32_t position_of(const Task& task, uint32_t channel, uint32_t channels) {
    return channel - task.first_channel + (channel < task.first_channel ? channels : 0);
  }
  // The first channel of a message carries a slice even if that is empty.
  static WEFT_DEV MessagePart of(const Task& task, uint32_t channel, uint32_t channels) {
    const uint32_t position = position_of(task, channel, channels);
    if (position >= task.channels) return {position, 0, 0};
    const Packs packs = Packs{}.part(task.share_packs, task.longer_shares, position);
    const auto units = uint32_t(packs.size());
    const bool empty = units == 0 && position == 0 && task.kind != Task::kCopy;
    return {position, uint32_t(packs.start), empty ? 1 : units};
  }

  WEFT_DEV Pack<Uint8> load(const Task& task, uint32_t unit) const {
    return Input<Uint8>::of(task.from, task.bytes).load(first + unit);
  }
  WEFT_DEV void store(const Task& task, uint32_t unit, const Pack<Uint8>& pack) const {
    Output<Uint8>::of(task.to, task.bytes).store(first + unit, pack);
  }
};

// Where the next message that goes by slots shows, of one flow and channel.
struct NextBySlots {
  const uint64_t* ready;  // of the first slot
  uint32_t slots;
  const uint32_t* received;

  WEFT_DEV uint64_t seen() const {                      // 0: nothing
    const uint32_t taken = platform::poll32(received);  // past the scalar cache of AMD
    const uint64_t word = platform::poll64(ready + (taken & (slots - 1)));
    return flag_counter(word) == taken + 1 ? word : 0;
  }
};
// Where the next one that goes by lines shows.
struct NextByLines {
  const char* slot;
  uint32_t counter;

  WEFT_DEV uint64_t seen() const {
    Pack<Uint8> pack;
    LlFormat::Flag flag{};
    LlFormat::load(slot, 0, 0, pack.bytes, flag);
    const uint32_t here = LlFormat::counter(flag), signature = LlFormat::signature(flag);
    return here == (counter & 0xffff) ? flag_word(counter, signature) : 0;
  }
};

// Of a message that came the other way: it has been seen for longer than stores are under way.
WEFT_DEV bool lasts(Patience& patience) {
  const uint64_t now = platform::clock_ns();
  if (patience.peer_ahead == 0) patience.peer_ahead = now;
  return now - patience.peer_ahead > kArrivalNs;
}

// A slice of lines that is awaited.
struct AwaitedLines {
  const char* slot;
  LlFormat::Flag flag;
  uint32_t signature;
  NextBySlots other;
  WaitSite site;

  // Of a lane that gave up: anything.
  WEFT_DEV Pack<Uint8> get(const Waits& waits, uint32_t unit) const {
    Patience patience;
    Pack<Uint8> pack{};
    poll_unit<LlFormat>(slot, unit, flag, pack.bytes,
                        [&](LlFormat::Flag seen) { return leaves(waits, seen, patience); });
    return pack;
  }
  // By one lane: whether the first line is there.
  WEFT_DEV bool came(const Waits& waits) const {
    Pack<Uint8> pack;
    LlFormat::Flag seen{};
    if (LlFormat::load(slot, 0, flag, pack.bytes, seen)) return true;
    if (LlFormat::counter(seen) == LlFormat::counter(flag) && seen != flag)
      leave(waits, Fault::kMismatch, site,
            flag_word(LlFormat::counter(seen), LlFormat::signature(seen)));
    else
      platform::poll_miss(LlFormat::polled(slot, 0));
    return false;
  }

 private:
  // Another lane may have found out what is wrong: lines that do not come show nothing.
  WEFT_DEV bool leaves(const Waits& waits, LlFormat::Flag seen, Patience& patience) const {
    if (waits.block.stopped() ||
        must_leave_line<LlFormat>(waits, site, signature, flag, seen, patience))
      return true;
    const uint64_t word = other.seen();
    if (word == 0) patience.peer_ahead = 0;
    if (word == 0 || !lasts(patience)) return false;
    leave(waits, Fault::kMismatch, site, word);
    return true;
  }
};

}  // namespace weft
