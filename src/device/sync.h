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

// What the waits of one kernel share.
struct Waits {
  HostWords* host;
  DeviceWords* words;
  uint64_t deadline_ns;  // of one wait, 0: none
  uint32_t sequence;
};

// Which wait this is, for the report.
struct WaitSite {
  Fault::Wait wait;
  uint32_t rank, channel;
  uint64_t expected;
  const BoxHeader* peer;  // what `rank` says of itself; null: not to be compared
  uint32_t signature;     // of this call, to compare
};

// What a wait remembers between two looks.
struct Patience {
  uint64_t began = 0;       // 0: no deadline looked at yet
  uint64_t peer_ahead = 0;  // since when the peer is seen in a later call, 0: not
};

// A peer in a later call has done its part of this one: its stores arrive in far less.
constexpr uint64_t kArrivalNs = 500'000'000;

// The first to give up writes the report; the host reads it (ncclCommGetAsyncError).
WEFT_DEV void report_fault(const Waits& waits, Fault::Kind kind, const WaitSite& site,
                           uint64_t seen) {
  HostWords* host = waits.host;
  if (platform::add_device32(&waits.words->fault_reports, 1) == 0) {
    host->fault.wait = site.wait;
    host->fault.rank = site.rank;
    host->fault.channel = site.channel;
    host->fault.expected = site.expected;
    host->fault.seen = seen;
    host->fault.sequence = waits.sequence;
    platform::release_system();
    platform::post32(&host->fault.kind, kind);  // partner: Communicator::device_fault
  }
}

// Whether the peer is in another call than this rank, so that what is waited for never comes.
WEFT_DEV bool disagrees(const Waits& waits, const WaitSite& site, Patience& patience) {
  if (site.peer == nullptr) return false;
  const uint64_t call = platform::poll64(&site.peer->call);
  const int32_t ahead = int32_t(flag_counter(call) - (waits.sequence + 1));
  if (ahead == 0 && flag_signature(call) != site.signature) {
    report_fault(waits, Fault::kMismatch, site, call);
    return true;
  }
  if (ahead <= 0) return false;
  const uint64_t now = platform::clock_ns();
  if (patience.peer_ahead == 0) patience.peer_ahead = now;
  if (now - patience.peer_ahead <= kArrivalNs) return false;
  report_fault(waits, Fault::kPeerWentOn, site, call);
  return true;
}

// Whether a wait must end: someone aborted, the ranks disagree, or its time is over.
WEFT_DEV bool must_leave(const Waits& waits, const WaitSite& site, uint64_t seen,
                         Patience& patience) {
  if (platform::poll32(&waits.host->abort) != 0) {
    report_fault(waits, Fault::kAborted, site, seen);
    return true;
  }
  if (disagrees(waits, site, patience)) return true;
  if (waits.deadline_ns == 0) return false;
  const uint64_t now = platform::clock_ns();
  if (patience.began == 0) patience.began = now;
  if (now - patience.began <= waits.deadline_ns) return false;
  report_fault(waits, Fault::kDeadline, site, seen);
  return true;
}

// Polls `word` until done(value); false when it gave up. By one lane; an acquire and a block
// barrier follow.
template <class Done>
WEFT_DEV bool wait_word(const Waits& waits, const uint64_t* word, const WaitSite& site, Done done,
                        uint64_t& seen) {
  Patience patience;
  for (unsigned spins = 1;; ++spins) {
    seen = platform::poll64(word);
    if (done(seen)) break;
    platform::poll_miss(word);
    if (spins % platform::kSpinsPerCheck == 0 && must_leave(waits, site, seen, patience))
      return false;
  }
  platform::poll_hit();
  return true;
}

// The peer's slice `counter` with the call's signature is in its slot. A slot's flag stays until
// this rank gives credit, so another signature on it is a mismatched call, never a later one.
WEFT_DEV bool wait_ready(const Waits& waits, const uint64_t* ready, uint32_t counter,
                         const WaitSite& call) {
  WaitSite site = call;
  site.wait = Fault::kData;
  site.expected = flag_word(counter, call.signature);
  uint64_t seen = 0;
  if (!wait_word(
          waits, ready, site, [=](uint64_t v) { return flag_counter(v) == counter; }, seen))
    return false;
  if (flag_signature(seen) == call.signature) return true;
  report_fault(waits, Fault::kMismatch, site, seen);
  return false;
}

// The peer has taken all slices before `counter`.
WEFT_DEV bool wait_credit(const Waits& waits, const uint64_t* credit, uint32_t counter,
                          const WaitSite& call) {
  WaitSite site = call;
  site.wait = Fault::kCredit;
  site.expected = flag_word(counter, 0);
  uint64_t seen = 0;
  return wait_word(
      waits, credit, site, [=](uint64_t v) { return reached(flag_counter(v), counter); }, seen);
}

// Before a release: all lanes' stores and loads are complete when any lane passes.
WEFT_DEV void complete(const Block& block) {
  block.drain();
  block.sync();
}

}  // namespace weft
