/* The per-peer header and the late wait: finding a call that ranks disagree about (design invariants 1, 3, 4).
 *
 * Two ranks issue the same sequence of calls. At kernel start a rank stores {sequence, signature} into a fixed header in the peer's
 * memory, count-0 calls too; then it stores its lines (0, 1 or 2 of them: the count) and waits for the peer's. A line carries the
 * SEQUENCE number, and lies in the copy that the REGION's own counter names, which advances only in calls that wait for the peer
 * (a count-0 call does not wait, so it must not turn the copies). Nothing is compared while lines arrive. A wait that lasts
 * looks at the peer's header:
 *   sequence behind mine: the peer is late, keep waiting;   equal: signatures differ -> mismatch;
 *   ahead of mine: the peer has finished this call, so its lines are visible: poll once more, and if still missing -> mismatch.
 * Who finds a mismatch stores a fault word at the peer, which every wait (and the host's watchdog) looks at.
 * A mismatch over which nobody waits (the same lines, another op) is not seen here; the plan hash of the debug mode is for that.
 *
 * Memory is modelled weaker than any target: stores of a kernel become visible in any order, any time later.
 * Assumed: M1 (the header is one 8-byte word), M3, M9 (all stores of a kernel are visible before a later kernel of the stream
 * stores its header), M6 (the second poll is issued after the header was loaded).
 *
 * CHECK pass safety
 * CHECK pass safety -DNO_MISMATCH -DOPS=5 -DWRAP=16
 * CHECK find assert -DBREAK_NO_RELEASE_AT_KERNEL_END
 * CHECK find assert -DBREAK_NO_SECOND_POLL
 * CHECK find assert -DBREAK_TORN_HEADER
 * CHECK find assert -DBREAK_BEHIND_IS_MISMATCH
 * CHECK find deadlock -DBREAK_AHEAD_KEEPS_WAITING
 * CHECK find deadlock -DBREAK_NO_FAULT_WORD
 * CHECK find deadlock -DBREAK_NO_HEADER_FOR_COUNT_0
 * CHECK find assert -DBREAK_COUNT_0_TURNS_COPIES
 * CHECK find deadlock -DBREAK_LINE_CARRIES_REGION_COUNTER
 * CHECK find assert -DBREAK_UNSIGNED -DNO_MISMATCH
 * CHECK find assert -DREACH=1
 * CHECK find assert -DREACH=2
 * CHECK find assert -DREACH=3
 */
#include "common.h"
#ifndef OPS
#define OPS 4
#endif
#define FIRST (WRAP - 2)
#define MAX_LINES 2
#define UNSET 9

typedef Header { byte sequence; byte signature }
Header header[2];          /* header[r]: what the peer of r stored into r's memory */
Header pending_header[2];  /* pending_*[r]: stores by rank r on their way */
bool has_header[2], has_signature[2];
byte line[2 * MAX_LINES * 2], pending_line[2 * MAX_LINES * 2];
bool has_line[2 * MAX_LINES * 2], unread[2 * MAX_LINES * 2];
#define LINE(r, unit, copy) (((r) * MAX_LINES + (unit)) * 2 + (copy))
bool fault[2], found[2];   /* fault[r]: the word in r's memory */
byte plan[OPS] = UNSET;    /* lines of a call, agreed */
bool mismatch, over[2];

inline land_header(r) {
  if
  :: has_header[r] -> header[1 - r].sequence = pending_header[r].sequence; has_header[r] = false
  :: else
  fi;
  if
  :: has_signature[r] -> header[1 - r].signature = pending_header[r].signature; has_signature[r] = false
  :: else
  fi
}
inline land_line(r, at, to) {
  if
  :: has_line[at] ->
    assert(mismatch || !unread[to]); /* no line is overwritten before it was read */
    line[to] = pending_line[at]; pending_line[at] = 0; has_line[at] = false; unread[to] = true
  :: else
  fi
}
#define LAND(r, unit, copy) land_line(r, LINE(r, unit, copy), LINE(1 - r, unit, copy))

inline land_all(r) {
  land_header(r);
  LAND(r, 0, 0); LAND(r, 0, 1); LAND(r, 1, 0); LAND(r, 1, 1)
}

proctype Memory(byte r) {
end:
  do
#ifdef BREAK_TORN_HEADER
  :: atomic { has_header[r] -> header[1 - r].sequence = pending_header[r].sequence; has_header[r] = false }
  :: atomic { has_signature[r] -> header[1 - r].signature = pending_header[r].signature; has_signature[r] = false }
#else
  :: atomic { has_header[r] -> land_header(r) }
#endif
  :: atomic { has_line[LINE(r, 0, 0)] -> LAND(r, 0, 0) }
  :: atomic { has_line[LINE(r, 0, 1)] -> LAND(r, 0, 1) }
  :: atomic { has_line[LINE(r, 1, 0)] -> LAND(r, 1, 0) }
  :: atomic { has_line[LINE(r, 1, 1)] -> LAND(r, 1, 1) }
  od
}

#ifdef BREAK_LINE_CARRIES_REGION_COUNTER
#define TAG WRAPPED(FIRST + region)
#else
#define TAG sequence
#endif
#define ARRIVED (line[LINE(r, unit, region % 2)] == TAG)
#ifdef BREAK_UNSIGNED
#define AHEAD (header[r].sequence > sequence)
#else
#define AHEAD (header[r].sequence != sequence && AT_OR_AFTER(header[r].sequence, sequence))
#endif
#define DIFFERS (header[r].sequence == sequence && header[r].signature != count)

proctype Rank(byte r) {
  byte op, sequence = FIRST, region, count, unit;
  do
  :: op == OPS -> break
  :: op < OPS ->
    atomic { /* launch */
      if
      :: plan[op] == UNSET -> select(count : 0 .. MAX_LINES); plan[op] = count
      :: plan[op] != UNSET -> count = plan[op]
#ifndef NO_MISMATCH
      :: plan[op] != UNSET && !mismatch -> count = (plan[op] + 1) % (MAX_LINES + 1); mismatch = true
      :: plan[op] != UNSET && !mismatch -> count = (plan[op] + 2) % (MAX_LINES + 1); mismatch = true
#endif
      fi
    };
    atomic {
#ifdef BREAK_NO_HEADER_FOR_COUNT_0
      if
      :: count == 0
      :: else ->
#else
      if
      :: true ->
#endif
        land_header(r);
        pending_header[r].sequence = sequence; has_header[r] = true;
        pending_header[r].signature = count; has_signature[r] = true
      fi
    };
    do
    :: unit < count ->
      atomic {
        LAND(r, unit, region % 2);
        pending_line[LINE(r, unit, region % 2)] = TAG; has_line[LINE(r, unit, region % 2)] = true;
        unit++
      }
    :: else -> unit = 0; break
    od;
    do
    :: unit < count ->
      if
      :: ARRIVED
      :: fault[r] -> goto failed
      :: DIFFERS -> WITNESS(1, true); goto failed
#ifdef BREAK_BEHIND_IS_MISMATCH
      :: header[r].sequence != sequence -> goto failed
#endif
#ifdef BREAK_NO_SECOND_POLL
      :: !ARRIVED -> /* polled, then loads the header */
        if
        :: AHEAD -> goto failed
        :: ARRIVED
        :: fault[r] || DIFFERS -> goto failed
        fi
#elif !defined(BREAK_AHEAD_KEEPS_WAITING)
      :: AHEAD ->
        if
        :: ARRIVED -> WITNESS(2, true)
        :: !ARRIVED -> WITNESS(3, true); goto failed
        fi
#endif
      fi;
      atomic { unread[LINE(r, unit, region % 2)] = false; unit++ }
    :: else -> break
    od;
    atomic { /* kernel end */
#ifndef BREAK_NO_RELEASE_AT_KERNEL_END
      land_all(r);
#endif
#ifndef BREAK_COUNT_0_TURNS_COPIES
      if
      :: count > 0 -> region++
      :: else
      fi;
#else
      region++;
#endif
      op++; unit = 0; count = 0;
      sequence = WRAPPED(sequence + 1)
    }
  od;
  goto ended;
failed:
  atomic {
    assert(mismatch); /* never falsely */
    found[r] = true;
#ifndef BREAK_NO_FAULT_WORD
    fault[1 - r] = true
#endif
  };
ended:
  over[r] = true
}

init {
  byte i;
  atomic {
    for (i : 0 .. 2 * MAX_LINES * 2 - 1) { line[i] = WRAPPED(FIRST - 1) };
    for (i : 0 .. 1) { header[i].sequence = WRAPPED(FIRST - 1); run Rank(i); run Memory(i) }
  };
  over[0] && over[1];
  /* Found by both: by a wait, or by the word that a rank whose calls are over finds in its memory. */
  assert(!mismatch || ((found[0] || fault[0]) && (found[1] || fault[1])))
}
