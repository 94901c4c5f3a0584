// Every wait and every post of the device side; the ordering rules are written here once
// (docs/memory-model.md numbers the assumptions). Owns: the poll loop with its abort word and
// deadline, the report of a wait that gave up, the post.
//
// Invariants, with the assumptions about memory (M-numbers of docs/memory-model.md) that each rests
// on
//  1. Data before flag: every lane drains its own stores, the block meets, then the leader releases
//     at system scope and stores the flag. A barrier alone does not drain other waves (M4, M10).
//     Partner: the acquire that follows a hit in the peer's wait_word (M6).
//  2. Reads before credit: the same post orders this block's loads of a slot before the credit that
//     lets the peer overwrite it (M5).
//  3. No wait is silent or endless: it looks at the abort word, which the host stores (M8), every
//     kSpinsPerCheck polls, and at the deadline if one is set.
//  4. All lanes of a block leave together: a lane that gives up marks the block stopped, and
//     stopped() is read after a barrier. Between two waits there is a barrier that all lanes pass.
//  5. A flag word is one 8-byte access, counter and signature together (M1); words of one location
//     are seen in their order (M3).
#pragma once

#include "device/flag.h"
#include "device/work.h"

namespace weft {

using platform::Block;

WEFT_DEV void* scratch_at(const Block& block, size_t bytes) {
  return static_cast<char*>(block.scratch()) + bytes;
}

// What the waits of one kernel share.
struct Waits {
  const Block& block;
  HostWords* host;
  DeviceWords* words;
  uint64_t deadline_ns;  // of one wait, 0: none
  Fault* fault;          // in the block's scratch: why it stopped
  uint32_t sequence;
};

// Which wait this is, for the report.
struct WaitSite {
  Fault::Wait wait;
  uint32_t rank, channel;
  uint64_t expected;
  const BoxHeader* peer;  // what `rank` says of itself; null: not to be compared
};

// What a wait remembers between two looks.
struct Patience {
  uint64_t began = 0;       // 0: no deadline looked at yet
  uint64_t peer_ahead = 0;  // since when the peer is seen in a later call, 0: not
};

// A peer in a later call has done its part of this one: its stores arrive in far less.
constexpr uint64_t kArrivalNs = 500'000'000;

// The block is to leave; the first lane to say so says why. report_fault() tells the host.
WEFT_DEV void leave(const Waits& waits, Fault::Kind kind, const WaitSite& site, uint64_t seen) {
  if (!waits.block.stop()) return;
  *waits.fault = {kind, site.wait, site.rank, site.channel, site.expected, seen, waits.sequence};
}

// By the leader, at the end of the kernel: the first block to give up writes the report; the host
// reads it (ncclCommGetAsyncError).
WEFT_DEV void report_fault(const Fault& fault, HostWords* host, DeviceWords* words) {
  if (platform::add_device32(&words->fault_reports, 1) % kClosed != 0) return;
  host->fault.wait = fault.wait;
  host->fault.rank = fault.rank;
  host->fault.channel = fault.channel;
  host->fault.expected = fault.expected;
  host->fault.seen = fault.seen;
  host->fault.sequence = fault.sequence;
  platform::release_system();
  platform::post32(&host->fault.kind, fault.kind);  // partner: DeviceState::fault
}

// Whether what is waited for never comes or need not: someone aborted, the peer is in another call
// than this rank, or the time is over. kNone: go on.
WEFT_DEV Fault::Kind reason_to_leave(const Waits& waits, const WaitSite& site, uint64_t& seen,
                                     Patience& patience) {
  if (platform::poll32(&waits.host->abort) != 0) return Fault::kAborted;
  const uint64_t now = platform::clock_ns();
  if (site.peer != nullptr) {
    const uint64_t call = platform::poll64(&site.peer->call);
    const int32_t ahead = int32_t(flag_counter(call) - (waits.sequence + 1));
    const bool other = ahead == 0 && flag_signature(call) != flag_signature(site.expected);
    if (ahead > 0 && patience.peer_ahead == 0) patience.peer_ahead = now;
    if (other || (ahead > 0 && now - patience.peer_ahead > kArrivalNs)) {
      seen = call;
      return other ? Fault::kMismatch : Fault::kPeerWentOn;
    }
  }
  if (patience.began == 0) patience.began = now;
  const bool late = waits.deadline_ns != 0 && now - patience.began > waits.deadline_ns;
  return late ? Fault::kDeadline : Fault::kNone;
}

// A look beside the polls, now and then; true: the block is to leave.
WEFT_DEV bool must_leave(const Waits& waits, const WaitSite& site, uint64_t seen,
                         Patience& patience) {
  const Fault::Kind kind = reason_to_leave(waits, site, seen, patience);
  if (kind == Fault::kNone) return false;
  leave(waits, kind, site, seen);
  return true;
}

// Polls `word` until its counter has reached the expected one; gives the word. By one lane; an
// acquire and a block barrier follow, after which the block leaves if it was stopped.
WEFT_DEV uint64_t wait_word(const Waits& waits, const uint64_t* word, const WaitSite& site) {
  Patience patience;
  WEFT_ROLLED
  for (unsigned spins = 1;; ++spins) {
    const uint64_t seen = platform::poll64(word);
    if (reached(flag_counter(seen), flag_counter(site.expected))) {
      platform::poll_hit();
      return seen;
    }
    platform::poll_miss(word);
    if (spins % platform::kSpinsPerCheck == 0 && must_leave(waits, site, seen, patience))
      return seen;
  }
}

// A look of what waits for nothing; by one lane. Blocks that all read the host's word wait for each
// other (1.1 us each on an H200): the first one does, the others see what it reports.
WEFT_DEV bool given_up(const Waits& waits) {
  const bool aborted = waits.block.index() == 0 && platform::poll32(&waits.host->abort) != 0;
  return aborted || platform::poll32(&waits.words->fault_reports) != 0;
}

// Before a release: all lanes' stores and loads are complete when any lane passes.
WEFT_DEV void complete(const Block& block) {
  block.drain();
  block.sync();
}

}  // namespace weft
