/* Late-bound zero copy: the vote inside the start flag (design section 4, invariants 1, 6, 7).
 *
 * Rank r's blocks publish, per operation, {epoch, buffer id, mapped bit} to all peers. Block b of every rank forms a group of
 * its own: it takes the zero-copy branch if and only if the bit of every rank's word is set, so it needs no other agreement.
 * Helper threads (one per rank, on the host, at any time) map a peer's buffer: write the entry into the table of their device,
 * make it visible there, then acknowledge to the owner; the owner's helper publishes `mapped_id` once all peers acknowledged.
 * Between two operations the user may free the buffer and get another one at the same address (a new id) and overwrites it.
 *
 * Memory assumed: M1 (the start word's halves each carry the epoch; modelled as one word), M8 (a host write to a device table
 * is visible only some time after it was made: `entry_written` against `entry`), M4/M6 around start and end flags.
 *
 * CHECK pass safety -DN=2 -DBLOCKS=2 -DOPS=1
 * CHECK pass safety -DN=2 -DBLOCKS=2 -DOPS=2 -DONE_OWNER -DNO_FREE
 * CHECK pass safety -DN=2 -DBLOCKS=1 -DOPS=3
 * CHECK pass safety -DN=3 -DONE_OWNER -DNO_FREE
 * CHECK find assert -DN=3 -DONE_OWNER -DNO_FREE -DBREAK_SAMPLE_PER_PEER
 * CHECK find assert -DN=2 -DBLOCKS=1 -DBREAK_OWN_BIT_ONLY
 * CHECK find assert -DN=2 -DBLOCKS=1 -DBREAK_OWN_BIT_RESAMPLED
 * CHECK find assert -DN=2 -DBLOCKS=1 -DBREAK_ACK_BEFORE_VISIBLE
 * CHECK find assert -DN=3 -DONE_OWNER -DNO_FREE -DBREAK_FIRST_ACK_IS_ENOUGH
 * CHECK find assert -DN=2 -DBLOCKS=1 -DBREAK_KEY_IS_ADDRESS
 * CHECK find assert -DN=2 -DBLOCKS=1 -DBREAK_NO_END_FLAG
 * CHECK find assert -DN=2 -DBLOCKS=2 -DBREAK_OTHER_ELEMENT_RANGE
 * CHECK find assert -DN=2 -DBLOCKS=1 -DREACH=1
 * CHECK find assert -DN=2 -DBLOCKS=1 -DREACH=2
 * CHECK find assert -DN=2 -DBLOCKS=2 -DREACH=3
 */
#include "common.h"
#ifndef N
#define N 2
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef OPS
#define OPS 2
#endif
#define NONE 0
#define PAIR(p, r) ((p) * N + (r))

/* Host and tables. Ids start at 1. */
byte current_id[N] = 1;         /* the buffer that rank r's next call will use; a call carries it as an argument */
byte entry_written[N * N];      /* p's host wrote the entry for r's buffer, */
byte entry[N * N];              /* and it is visible to p's device */
byte acknowledged[N * N];       /* p told r */
byte mapped_id[N];              /* device word of r: this buffer is mapped everywhere */

typedef Word { byte epoch; byte id; bool mapped }
Word start[N * N * BLOCKS * 2]; /* parity by epoch: all ranks wait for all words */
byte end_flag[N * N * BLOCKS];
#define START(dst, src, b, e) start[((PAIR(dst, src)) * BLOCKS + (b)) * 2 + (e) % 2]
#define END(dst, src, b) end_flag[PAIR(dst, src) * BLOCKS + (b)]

/* Ghosts. */
byte decision[OPS * BLOCKS];    /* 0 not taken, 1 staged, 2 zero copy */
byte decided[OPS * BLOCKS];
byte contents[N] = 1;           /* which operation the user filled r's current buffer for */
bool covered[N * BLOCKS];       /* element i of the running operation was handled at rank r */
byte running[N];                /* blocks of rank r that have not finished the operation */
byte epoch[N];                  /* operation that rank r has launched, 1.. */

#define PEER(k) ((r + (k)) % N)
#ifdef BREAK_SAMPLE_PER_PEER
#define RESAMPLE mine = (mapped_id[r] == id)
#else
#define RESAMPLE skip
#endif
#ifdef BREAK_OWN_BIT_ONLY
#define JOIN(k) skip
#else
#define JOIN(k) all = all && START(r, PEER(k), b, e).mapped
#endif
#ifdef BREAK_KEY_IS_ADDRESS
#define ID_MATCHES(k) true
#else
#define ID_MATCHES(k) (entry[PAIR(r, PEER(k))] == START(r, PEER(k), b, e).id)
#endif

#define SEND_START(k)                                                                        \
  atomic {                                                                                   \
    RESAMPLE;                                                                                \
    START(PEER(k), r, b, e).id = id;                                                         \
    START(PEER(k), r, b, e).mapped = mine;                                                   \
    START(PEER(k), r, b, e).epoch = e                                                        \
  }
#define WAIT_START(k) atomic { START(r, PEER(k), b, e).epoch == e; JOIN(k) }
#define READ_PEER(k)                                                                         \
  atomic {                                                                                   \
    assert(ID_MATCHES(k));                                                                   \
    assert(entry[PAIR(r, PEER(k))] == current_id[PEER(k)]); /* never memory that was freed */\
    assert(contents[PEER(k)] == e);                   /* never a buffer whose owner went on */ \
    WITNESS(1, true);                                                                        \
    WITNESS(2, current_id[PEER(k)] == 2)                                                     \
  }

proctype Block(byte r; byte b) {
  byte e = 0, id, element;
  bool mine, all;
  do
  :: e == OPS -> break
  :: atomic { e < OPS && epoch[r] == e + 1 ->
      e++;
      id = current_id[r]; /* sampled once */
#ifdef BREAK_KEY_IS_ADDRESS
      mine = (mapped_id[r] != NONE)
#else
      mine = (mapped_id[r] == id)
#endif
    };
    SEND_START(1);
#if N > 2
    SEND_START(2);
#endif
    atomic {
#ifdef BREAK_OWN_BIT_RESAMPLED
      mine = (mapped_id[r] == id);
#endif
      all = mine; mine = false; id = 0
    };
    WAIT_START(1);
#if N > 2
    WAIT_START(2);
#endif
    atomic { /* all blocks b of all ranks take the same branch */
      assert(decision[(e - 1) * BLOCKS + b] == 0 || decision[(e - 1) * BLOCKS + b] == 1 + all);
      decision[(e - 1) * BLOCKS + b] = 1 + all;
#if BLOCKS > 1
      WITNESS(3, decision[(e - 1) * BLOCKS] + decision[(e - 1) * BLOCKS + 1] == 3);
#endif
      decided[(e - 1) * BLOCKS + b]++;
      if
      :: decided[(e - 1) * BLOCKS + b] == N -> decided[(e - 1) * BLOCKS + b] = 0; decision[(e - 1) * BLOCKS + b] = 0
      :: else
      fi
    };
    if
    :: all ->
      READ_PEER(1);
#if N > 2
      READ_PEER(2);
#endif
#ifndef BREAK_NO_END_FLAG
      END(PEER(1), r, b) = e;
#if N > 2
      END(PEER(2), r, b) = e;
#endif
      END(r, PEER(1), b) == e;
#if N > 2
      END(r, PEER(2), b) == e;
#endif
#endif
    :: else /* the staged branch; its lines are parity.pml's */
    fi;
    atomic {
#ifdef BREAK_OTHER_ELEMENT_RANGE
      element = (all -> (b + 1) % BLOCKS : b);
#else
      element = b;
#endif
      assert(!covered[r * BLOCKS + element]);
      covered[r * BLOCKS + element] = true;
      element = 0; all = false;
      running[r]--
    }
  od
}

proctype User(byte r) {
  byte i;
  do
  :: epoch[r] == OPS -> break
  :: epoch[r] < OPS ->
    atomic { /* fill the buffer and launch */
      for (i : 0 .. BLOCKS - 1) { covered[r * BLOCKS + i] = false };
      i = 0;
      contents[r] = epoch[r] + 1;
      running[r] = BLOCKS;
      epoch[r]++
    };
    running[r] == 0;
    contents[r] = NONE; /* the user overwrites it: the call is over for this rank */
    if
#ifndef NO_FREE
    :: current_id[r] == 1 -> current_id[r] = 2 /* free, and malloc at the same address */
#endif
    :: true
    fi
  od
}

/* Helper threads. They learn ids out of band and map at any time; no call waits for them. */
#ifdef BREAK_ACK_BEFORE_VISIBLE
#define WRITE_ENTRY(p, r) entry_written[PAIR(p, r)] = current_id[r]; acknowledged[PAIR(p, r)] = current_id[r]
#define SHOW_ENTRY(p, r) entry[PAIR(p, r)] = entry_written[PAIR(p, r)]
#else
#define WRITE_ENTRY(p, r) entry_written[PAIR(p, r)] = current_id[r]
#define SHOW_ENTRY(p, r) entry[PAIR(p, r)] = entry_written[PAIR(p, r)]; acknowledged[PAIR(p, r)] = entry[PAIR(p, r)]
#endif
#define MAP(p, r)                                                                          \
  atomic { (entry_written[PAIR(p, r)] != current_id[r]) -> WRITE_ENTRY(p, r) }             \
  :: atomic { (entry[PAIR(p, r)] != entry_written[PAIR(p, r)]) -> SHOW_ENTRY(p, r) }

#if N == 2 || defined(BREAK_FIRST_ACK_IS_ENOUGH)
#define ALL_ACKNOWLEDGED(r) (acknowledged[PAIR(((r) + 1) % N, r)] == current_id[r])
#else
#define ALL_ACKNOWLEDGED(r) \
  (acknowledged[PAIR(((r) + 1) % N, r)] == current_id[r] && acknowledged[PAIR(((r) + 2) % N, r)] == current_id[r])
#endif
#define PUBLISH(r) atomic { (mapped_id[r] != current_id[r] && ALL_ACKNOWLEDGED(r)) -> mapped_id[r] = current_id[r] }

active proctype Helpers() {
end:
  do
  :: MAP(0, 1)
  :: MAP(1, 0)
  :: PUBLISH(0)
  :: PUBLISH(1)
#if N > 2
  :: MAP(0, 2)
  :: MAP(1, 2)
  :: MAP(2, 0)
  :: MAP(2, 1)
  :: PUBLISH(2)
#endif
  od
}

init {
  byte i, b;
  atomic {
#ifdef ONE_OWNER /* the buffers of all ranks but 0 are mapped already: fewer states for 3 ranks */
    for (i : 0 .. N * N - 1) {
      if
      :: i % N != 0 -> entry_written[i] = 1; entry[i] = 1; acknowledged[i] = 1; mapped_id[i % N] = 1
      :: else
      fi
    };
#endif
    for (i : 0 .. N - 1) {
      run User(i);
      for (b : 0 .. BLOCKS - 1) { run Block(i, b) }
    }
  }
}
