/* Parity lines: the one-shot LL exchange with alternating copies and no end barrier (design invariants 1, 2, 3).
 *
 * Every rank stores its line into every peer's copy and waits for all peers' lines; then the operation is over for it.
 * A line is data + flag in one 8-byte word; the flag must be EQUAL to the sequence number of the operation (mod 2^32, here
 * mod WRAP). Which copy is used comes from a counter of the region, not from the sequence number: the sequence also counts
 * operations that do not use this region (`skip_seq`), and 2^32 is no multiple of three copies.
 * An operation uses `units` of the region's UNITS mailboxes with a grid of g blocks; block b handles units b, b+g, ...
 * Both are drawn anew for every operation and are equal on all ranks (part of the plan).
 * A unit that is not used keeps its old flag, which would match again one wrap later. So a rank clears lines of its own
 * memory: in operation e it may rewrite the copy that e-1 used, with the flag of e-1, so that no value is special (here in
 * every operation; the code does it rarely, which changes only how many sequence numbers lie between).
 *   two copies: only BEFORE the rank's first store of e (a peer that has our line of e may already write e+1 there),
 *   three copies: any time during e (nobody writes there before e+2, which needs our line of e+1).
 *
 * Memory assumed: M1 (a line is seen whole or not at all), M2 (flag-in-data needs no order between lines: stores and polls
 * of a unit happen here in any order), M9 (stores of a kernel are performed when the next kernel of the stream starts),
 * M5 for the clear (own clears are performed before own lines are stored).
 *
 * CHECK pass safety -DN=2
 * CHECK pass safety -DN=2 -DCOPIES=3 -DSKIP=0
 * CHECK pass safety -DN=2 -DCOPIES=3 -DUNITS=1
 * CHECK pass safety -DN=3 -DUNITS=1
 * CHECK find assert -DN=2 -DCOPIES=1
 * CHECK find assert -DN=3 -DUNITS=1 -DCOPIES=1
 * CHECK find assert -DN=2 -DBREAK_BROADCAST
 * CHECK find assert -DN=2 -DBREAK_BROADCAST -DCOPIES=3
 * CHECK find assert -DN=3 -DUNITS=1 -DBREAK_BROADCAST
 * CHECK find assert -DN=2 -DBREAK_EPOCH_PER_BLOCK
 * CHECK find assert -DN=2 -DBREAK_NO_CLEAR
 * CHECK find assert -DN=2 -DBREAK_CLEAR_LATE
 * CHECK find assert -DN=2 -DBREAK_CLEAR_TO_ZERO
 * CHECK find assert -DN=2 -DBREAK_COPY_FROM_SEQUENCE -DCOPIES=3
 * CHECK find assert -DN=2 -DREACH=1
 * CHECK find assert -DN=2 -DREACH=2
 */
#ifndef N
#define N 2
#endif
#ifndef UNITS
#define UNITS 2
#endif
#ifndef COPIES
#define COPIES 2
#endif
/* The smallest wrap that holds: a line cleared in one operation is next written COPIES-1 operations later, and each of them
 * advances the sequence number by at most 1 + SKIP. Like 2^32 it is no multiple of 3. */
#ifndef SKIP
#define SKIP 1
#endif
#define WRAP (COPIES * (1 + SKIP) + 1)
#include "common.h"
#define GHOST (2 * WRAP) /* the true sequence number, two wraps wide: tells a line from the one a wrap earlier */
#define CONSUMED GHOST    /* ghost of a line that was read or cleared */
#define PEERS (N - 1)
#define PLANS 4

typedef Line { byte flag; byte ghost; bool unread }
Line line[N * N * UNITS * COPIES];
#define LINE(dst, src, unit, copy) line[(((dst) * N + (src)) * UNITS + (unit)) * COPIES + (copy)]

/* The agreed plan of an operation: the first rank that reaches it draws it. Index: operation mod PLANS. */
typedef Plan { byte grid; byte units; bool skip_seq }
Plan plan[PLANS];

#define BIT(unit, k) (1 << ((unit) * PEERS + (k)-1))
#define UNIT_BITS(unit) (((1 << PEERS) - 1) << ((unit) * PEERS))
#define ALL_BITS ((1 << (units * PEERS)) - 1)
#define PEER(k) ((r + (k)) % N)

/* A block works through its units in order: unit u may begin when unit u - g is complete. */
#define MAY_BEGIN(u) ((u) < units && ((u) < grid || (got & UNIT_BITS((u)-grid)) == UNIT_BITS((u)-grid)))

#ifdef BREAK_EPOCH_PER_BLOCK /* every block counts the operations it took part in */
#define FLAG(u) WRAPPED(block_epoch[(u) % grid])
#define COPY(u) (block_epoch[(u) % grid] % COPIES)
#elif defined(BREAK_COPY_FROM_SEQUENCE)
#define FLAG(u) WRAPPED(seq)
#define COPY(u) (WRAPPED(seq) % COPIES)
#else
#define FLAG(u) WRAPPED(seq)
#define COPY(u) copy
#endif

#define STORE(u, k)                                                                                      \
  (!(sent & BIT(u, k)) && MAY_BEGIN(u) && may_store) -> d_step {                                         \
    assert(!LINE(PEER(k), r, u, COPY(u)).unread); /* never overwrite a line that was not read */         \
    LINE(PEER(k), r, u, COPY(u)).flag = FLAG(u);                                                         \
    LINE(PEER(k), r, u, COPY(u)).ghost = seq;                                                            \
    LINE(PEER(k), r, u, COPY(u)).unread = true;                                                          \
    sent = sent | BIT(u, k)                                                                              \
  }
#define POLL(u, k)                                                                                       \
  (!(got & BIT(u, k)) && MAY_BEGIN(u) && LINE(r, PEER(k), u, COPY(u)).flag == FLAG(u)) -> d_step {       \
    assert(LINE(r, PEER(k), u, COPY(u)).ghost == seq); /* the line of this operation, no older one */    \
    LINE(r, PEER(k), u, COPY(u)).unread = false;                                                         \
    LINE(r, PEER(k), u, COPY(u)).ghost = CONSUMED;                                                       \
    got = got | BIT(u, k)                                                                                \
  }

inline clear_old_copy() {
  d_step {
    old = (copy + COPIES - 1) % COPIES;
    u = 0;
    do
    :: u < UNITS ->
      k = 1;
      do
      :: k < N ->
        assert(!LINE(r, PEER(k), u, old).unread);
#ifdef BREAK_CLEAR_TO_ZERO
        LINE(r, PEER(k), u, old).flag = 0;
#else
        LINE(r, PEER(k), u, old).flag = WRAPPED(last_seq);
#endif
        k++
      :: else -> break
      od;
      u++
    :: else -> break
    od;
    u = 0; k = 0; old = 0;
    clear = false
  }
}

proctype Rank(byte r) {
  byte seq = GHOST - 2, last_seq = GHOST - 3, op = 0, copy = 0, grid, units, sent, got, u, k, old;
  bool clear, may_store;
#ifdef BREAK_EPOCH_PER_BLOCK
  byte block_epoch[UNITS];
  block_epoch[0] = 2;
#if UNITS > 1
  block_epoch[1] = 2;
#endif
#endif

end:
  do
  :: true ->
    atomic { /* launch: read or draw the plan */
      if
      :: plan[op].grid != 0
      :: else ->
#ifdef BREAK_BROADCAST
        plan[op].grid = 1; plan[op].units = 1
#else
        select(u : 1 .. UNITS); plan[op].grid = u;
        select(u : plan[op].grid .. UNITS); plan[op].units = u;
        select(u : 0 .. SKIP); plan[op].skip_seq = u;
        plan[(op + 2) % PLANS].grid = 0; plan[(op + 2) % PLANS].units = 0; plan[(op + 2) % PLANS].skip_seq = 0 /* nobody can still be there: ranks are at most one operation apart */
#endif
      fi;
      grid = plan[op].grid; units = plan[op].units;
      if
      :: plan[op].skip_seq -> seq = (seq + 1) % GHOST
      :: else
      fi;
      u = 0; sent = 0; got = 0;
#ifdef BREAK_NO_CLEAR
      clear = false;
#else
      clear = true;
#endif
      WITNESS(1, plan[op].skip_seq && units == 1 && seq == 0);
      may_store = true;
#if COPIES == 2 && !defined(BREAK_CLEAR_LATE)
      if
      :: clear -> clear_old_copy()
      :: else
      fi;
#endif
    };
#ifdef BREAK_BROADCAST /* rank 0 only stores, the others only wait for it */
    if
    :: r == 0 -> got = ALL_BITS
    :: else -> sent = ALL_BITS; got = ALL_BITS & ~BIT(0, N - r)
    fi;
#endif
    do
    :: STORE(0, 1)
    :: POLL(0, 1)
#if N > 2
    :: STORE(0, 2)
    :: POLL(0, 2)
#endif
#if UNITS > 1
    :: STORE(1, 1)
    :: POLL(1, 1)
#endif
    :: clear -> clear_old_copy()
    :: sent == ALL_BITS && got == ALL_BITS && !clear -> break
    od;
    atomic {
      WITNESS(2, units == 2 && grid == 1 && seq == 0);
      last_seq = seq;
      seq = (seq + 1) % GHOST; sent = 0; got = 0; grid = 0; units = 0; op = (op + 1) % PLANS; copy = (copy + 1) % COPIES;
#ifdef BREAK_EPOCH_PER_BLOCK
      u = 0;
      do
      :: u < grid -> block_epoch[u] = (block_epoch[u] + 1) % GHOST; u++
      :: else -> break
      od;
      u = 0
#endif
    }
  od
}

init {
  byte i;
  atomic {
    /* Initialization writes the flag before the first sequence number: zeroed memory would match sequence number 0. */
    for (i : 0 .. N * N * UNITS * COPIES - 1) {
#ifdef BREAK_EPOCH_PER_BLOCK
      line[i].flag = 1;
#else
      line[i].flag = WRAPPED(GHOST - 3);
#endif
      line[i].ghost = CONSUMED
    }
    for (i : 0 .. N - 1) { run Rank(i) }
    i = 0
  }
}
