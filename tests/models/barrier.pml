/* `post` and `wait` of a block: what every wave must do around the block barrier (design invariant 6; M4, M6, M10 of
 * docs/memory-model.md). One producer block of WAVES waves stores one datum per wave, meets at the barrier, and the leader
 * stores the flag. One consumer block polls the flag (leader), meets at a barrier, and every wave reads every datum.
 *
 * Memory is modelled as the hardware lets it be: each wave has its own store queue, emptied in any order at any time; only
 * that wave's own wait ("drain") sees it empty. The barrier instruction itself waits for nothing.
 *   default    stores bypass caches (UC memory or sc0 sc1): a store that left the queue is visible.
 *   CACHED     a store that left the queue is in this device's L2; `write_back` asks for it to reach memory (buffer_wbl2), which
 *              happens some time later, and only a wait after it knows that it has.
 * The consumer's waves read through first-level caches that may hold old lines: one for all waves, or with TWO_CACHES one for
 * each (gfx10+ in WGP mode). `invalidate` drops the lines of the cache of the wave that executes it.
 *
 * CHECK pass safety
 * CHECK pass safety -DWAVES=3
 * CHECK pass safety -DCACHED
 * CHECK pass safety -DTWO_CACHES
 * CHECK pass safety -DTWO_CACHES -DCACHED
 * CHECK pass safety -DBREAK_LEADER_INVALIDATES
 * CHECK find assert -DBREAK_LEADER_INVALIDATES -DTWO_CACHES
 * CHECK find assert -DBREAK_LEADER_DRAINS_ONLY
 * CHECK find assert -DBREAK_LEADER_DRAINS_ONLY -DCACHED
 * CHECK find assert -DBREAK_NO_DRAIN
 * CHECK find assert -DBREAK_NO_WRITE_BACK -DCACHED
 * CHECK find assert -DBREAK_NO_WAIT_AFTER_WRITE_BACK -DCACHED
 * CHECK find assert -DBREAK_NO_BARRIER
 * CHECK find assert -DBREAK_NO_INVALIDATE
 * CHECK find assert -DBREAK_INVALIDATE_BEFORE_POLL
 * CHECK find assert -DREACH=1
 */
#include "common.h"
#ifndef WAVES
#define WAVES 2
#endif
#ifdef TWO_CACHES
#define CACHES WAVES
#define CACHE(w) (w)
#else
#define CACHES 1
#define CACHE(w) 0
#endif

bool queued[WAVES];  /* wave w's store is in its queue */
bool dirty[WAVES];   /* its line is in L2, not in memory */
bool leaving[WAVES]; /* and is being written back */
bool memory[WAVES];  /* the datum, visible to the other device */
bool flag;
bool old_line[CACHES * WAVES]; /* consumer cache c holds the old value of datum d */
byte at_first_barrier, at_second_barrier;

active proctype Memory() {
  byte w;
end:
  do
  :: select(w : 0 .. WAVES - 1);
    atomic {
      if
#ifdef CACHED
      :: queued[w] -> queued[w] = false; dirty[w] = true
      :: leaving[w] -> leaving[w] = false; dirty[w] = false; memory[w] = true
      :: dirty[w] && !leaving[w] -> leaving[w] = true /* evicted on its own: may happen, may not */
#else
      :: queued[w] -> queued[w] = false; memory[w] = true
#endif
      :: !memory[w] -> old_line[w] = true /* the consumer's side fetches a line early */
#ifdef TWO_CACHES
      :: !memory[w] -> old_line[WAVES + w] = true
#endif
      :: memory[w] && !queued[w]
      fi
    };
    w = 0
  od
}

inline write_back() {
  for (i : 0 .. WAVES - 1) {
    if
    :: dirty[i] -> leaving[i] = true
    :: else
    fi
  };
  i = 0
}
inline wait_for_write_back() {
  for (i : 0 .. WAVES - 1) { !leaving[i] };
  i = 0
}

proctype Producer(byte w) {
  byte i;
  queued[w] = true;
#if !defined(BREAK_NO_DRAIN) && !defined(BREAK_LEADER_DRAINS_ONLY)
  !queued[w]; /* s_waitcnt vmcnt(0) by every wave, before the barrier */
#endif
  at_first_barrier++;
#ifndef BREAK_NO_BARRIER
  at_first_barrier == WAVES;
#endif
  if
  :: w == 0 ->
#ifndef BREAK_NO_DRAIN
    !queued[w]; /* the wait inside a release: this wave's own stores only */
#endif
#if defined(CACHED) && !defined(BREAK_NO_WRITE_BACK)
    atomic { write_back() };
#ifndef BREAK_NO_WAIT_AFTER_WRITE_BACK
    wait_for_write_back();
#endif
#endif
    flag = true
  :: else
  fi
}

inline invalidate() {
  atomic {
    for (i : 0 .. WAVES - 1) { old_line[CACHE(w) * WAVES + i] = false };
    i = 0
  }
}

proctype Consumer(byte w) {
  byte i;
  if
  :: w == 0 ->
#ifdef BREAK_INVALIDATE_BEFORE_POLL
    invalidate();
#endif
    flag;
#ifdef BREAK_LEADER_INVALIDATES
    invalidate()
#endif
  :: else
  fi;
  at_second_barrier++;
  at_second_barrier == WAVES;
#if !defined(BREAK_LEADER_INVALIDATES) && !defined(BREAK_NO_INVALIDATE) && !defined(BREAK_INVALIDATE_BEFORE_POLL)
  invalidate();
#endif
  for (i : 0 .. WAVES - 1) { assert(memory[i] && !old_line[CACHE(w) * WAVES + i]) };
  WITNESS(1, w == WAVES - 1)
}

init {
  byte n;
  atomic {
    for (n : 0 .. WAVES - 1) { run Producer(n); run Consumer(n) }
  }
}
