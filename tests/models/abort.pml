/* Abort and withdraw while peers reach into each other's buffers (design invariants 5, 7 and "Abort is local").
 *
 * Every rank has a host and a kernel (Peer protocol: start flags, then CHUNKS chunks in which it stores into every peer's buffer,
 * then a gone flag to every peer, then it waits for theirs). Words: `aborted` (host to its own kernel), `withdrawn` (host of r,
 * in the memory of p: keep off r's buffer), `gone` (kernel of p, in r's memory: p will not touch r's buffer again).
 * A kernel looks at both words in every wait and before every access, and leaves by ONE path, which drains its stores and then
 * stores `gone` to all. A kernel that is gone never comes back.
 * Abort: set `aborted`, store `withdrawn` at all peers, wait for the own kernel to have left, and then, if it had
 * published its start flags, wait for `gone` of every peer, or for a deadline, after which the peer is reported as one that may
 * still touch the buffer. It never waits for a host. Any host may abort at any time, also both; one rank may die at any time.
 *
 * Property: after abort has returned, nobody stores into the buffer who was not reported; and after `withdrawn` (or `aborted`)
 * is visible a kernel makes at most one more access. Nothing gets stuck; with a live machine no timer is needed (NO_TIMER).
 * Memory is modelled weaker: a store into a peer's buffer lands at any time after it was issued.
 * Assumed: M4/M5 (drain before `gone`), M8 (host words are seen by a running kernel some time after they are stored).
 *
 * CHECK pass safety -DDEATH
 * CHECK pass safety -DNO_TIMER
 * CHECK pass live -DDEATH -DCHUNKS=1
 * CHECK find assert -DBREAK_GONE_WITHOUT_DRAIN
 * CHECK find assert -DBREAK_CHECK_ONCE
 * CHECK find assert -DBREAK_NOT_REPORTED -DDEATH
 * CHECK find assert -DBREAK_SAMPLE_BEFORE_KERNEL_LEFT
 * CHECK find assert -DBREAK_SKIP_PEERS_NOT_STARTED
 * CHECK find assert -DBREAK_RETURN_AT_ONCE
 * CHECK find deadlock -DBREAK_NO_ABORT_DEADLINE -DDEATH
 * CHECK find deadlock -DBREAK_NO_KERNEL_DEADLINE -DDEATH
 * CHECK find deadlock -DBREAK_WAITS_FOR_PEER_HOST
 * CHECK find deadlock -DBREAK_WITHDRAW_NOT_SEEN_IN_WAIT -DNO_TIMER
 * CHECK find deadlock -DBREAK_NO_GONE_ON_ABORT -DNO_TIMER
 * CHECK find cycle -DBREAK_ABORT_RETRIES -DDEATH -DCHUNKS=1
 * CHECK find assert -DREACH=1 -DDEATH
 * CHECK find assert -DREACH=2
 * CHECK find assert -DREACH=3
 */
#include "common.h"
#define N 2 /* one peer each; a kernel treats its peers one after the other and alike */
#ifndef CHUNKS
#define CHUNKS 2
#endif
#define PEER (1 - r)

bool aborted[N];
bool withdraw_sent[N], withdrawn[N]; /* withdrawn[p]: in p's memory, about the peer's buffer; visible some time after it was sent */
bool start[N];     /* start[p]: in p's memory, the peer's buffer may be used */
bool gone[N];      /* gone[r]: in r's memory, the peer will not touch r's buffer any more */
bool in_flight[N]; /* in_flight[p]: p's store into the peer's buffer has not landed */
bool launched[N], left[N], published[N], dead[N];
bool abort_called[N], abort_returned[N], reported[N]; /* reported[r]: r's abort said "the peer may still touch" */
bool over_[N];     /* r's host has nothing more to do */
byte after_abort[N], after_withdraw[N];

#define SAFE(r) (!(abort_returned[r] && !reported[r])) /* a store into r's buffer is harmless now */

/* Stores become visible by themselves. */
active proctype Memory() {
end:
  do
  :: atomic { in_flight[0] -> assert(SAFE(1)); in_flight[0] = false }
  :: atomic { in_flight[1] -> assert(SAFE(0)); in_flight[1] = false }
  :: atomic { (withdraw_sent[0] && !withdrawn[0]) -> withdrawn[0] = true }
  :: atomic { (withdraw_sent[1] && !withdrawn[1]) -> withdrawn[1] = true }
  od
}

#if defined(NO_TIMER) || defined(BREAK_NO_KERNEL_DEADLINE)
#define KERNEL_DEADLINE false
#else
#define KERNEL_DEADLINE true /* may strike at any moment */
#endif
#ifdef BREAK_WITHDRAW_NOT_SEEN_IN_WAIT
#define WITHDRAWN_IN_WAIT false
#else
#define WITHDRAWN_IN_WAIT withdrawn[r]
#endif
#ifdef BREAK_CHECK_ONCE
#define MUST_LEAVE (chunk == 0 && (aborted[r] || withdrawn[r]))
#else
#define MUST_LEAVE (aborted[r] || withdrawn[r])
#endif

proctype Kernel(byte r) {
  byte chunk;
  {
    if
    :: aborted[r] -> goto leave
    :: !aborted[r]
    fi;
    published[r] = true; /* modelled before the store itself: from here a peer may come */
    start[PEER] = true;
    if
    :: start[r]
    :: aborted[r] -> goto leave
    :: WITHDRAWN_IN_WAIT -> goto leave
    :: KERNEL_DEADLINE -> goto leave
    fi;
    do
    :: chunk < CHUNKS ->
      if
      :: MUST_LEAVE -> WITNESS(2, withdrawn[r] && chunk == 1); goto leave
      :: else
      fi;
      !in_flight[r];
      atomic { /* one access */
        assert(SAFE(PEER));
        in_flight[r] = true;
        chunk++;
        after_abort[r] = after_abort[r] + (aborted[r] -> 1 : 0);
        after_withdraw[r] = after_withdraw[r] + (withdrawn[r] -> 1 : 0);
        assert(after_abort[r] <= 1 && after_withdraw[r] <= 1)
      }
    :: else -> break
    od;
#ifndef BREAK_GONE_WITHOUT_DRAIN
    !in_flight[r];
#endif
    gone[PEER] = true;
    if
    :: gone[r] -> WITNESS(3, aborted[PEER])
    :: aborted[r]
    :: WITHDRAWN_IN_WAIT
    :: KERNEL_DEADLINE
    fi;
leave:
#ifndef BREAK_GONE_WITHOUT_DRAIN
    !in_flight[r];
#endif
#ifdef BREAK_NO_GONE_ON_ABORT
    skip;
#else
    gone[PEER] = true;
#endif
    left[r] = true
  } unless { dead[r] };
}

#if defined(NO_TIMER) || defined(BREAK_NO_ABORT_DEADLINE) || defined(BREAK_WAITS_FOR_PEER_HOST)
#define ABORT_DEADLINE false
#else
#define ABORT_DEADLINE true
#endif

proctype Host(byte r) {
  bool sampled;
  {
    if
    :: launched[r] = true; run Kernel(r)
#ifndef NO_TIMER
    :: true /* slow: launches later or never */
#endif
    fi;
    if
    :: true -> goto call_abort
#ifndef BREAK_WAITS_FOR_PEER_HOST
    :: true -> /* waits for the call to end */
      if
      :: !launched[r] ->
        if
        :: launched[r] = true; run Kernel(r)
        :: true -> goto host_end
        fi
      :: launched[r]
      fi;
      if
      :: true -> left[r]; goto host_end
      :: true -> goto call_abort
      fi
#endif
    fi;
call_abort:
    abort_called[r] = true;
#ifdef BREAK_SAMPLE_BEFORE_KERNEL_LEFT
    sampled = published[r];
#endif
    aborted[r] = true;
    withdraw_sent[PEER] = true;
    (!launched[r] || left[r]); /* bounded: the own kernel sees `aborted` in every wait and before every access */
#ifndef BREAK_SAMPLE_BEFORE_KERNEL_LEFT
    sampled = published[r];
#endif
#ifdef BREAK_SKIP_PEERS_NOT_STARTED
    sampled = sampled && start[r];
#endif
#ifdef BREAK_RETURN_AT_ONCE
    sampled = false;
#endif
#ifdef BREAK_WAITS_FOR_PEER_HOST
    over_[PEER];
#endif
#ifdef BREAK_ABORT_RETRIES /* polls for ever for a peer that is dead */
    do
    :: gone[r] || !sampled -> break
    :: !gone[r] && sampled -> skip
    od;
#else
    if
    :: !sampled || gone[r]
    :: sampled && !gone[r] && ABORT_DEADLINE ->
      WITNESS(1, dead[PEER]);
#ifndef BREAK_NOT_REPORTED
      reported[r] = true
#endif
    fi;
#endif
    abort_returned[r] = true;
host_end:
    over_[r] = true
  } unless { dead[r] };
}

#ifdef DEATH
active proctype Death() { /* of at most one process, whose kernel stops at the same moment or is stopped by the driver */
  if
#ifndef LIVE /* `live` is about rank 0 */
  :: dead[0] = true
#endif
  :: dead[1] = true
  :: true
  fi
}
#endif

init {
  atomic { run Host(0); run Host(1) }
}

#ifdef LIVE
ltl live { [] (abort_called[0] -> <> abort_returned[0]) }
#endif
