/* Tickets: kernels of one communicator on different streams run one after the other without events (design section 5).
 *
 * The host gives kernel k the ticket k; every block of k waits until the communicator's `done` word has reached k (signed
 * difference, both wrap). The block of k that finishes last (a counter shared by the blocks) resets that counter and only then
 * advances `done`. The number of blocks differs from kernel to kernel. Kernel k runs on stream k mod STREAMS; the hardware may
 * start kernels of different streams in any order, and a waiting block keeps its place on the machine (RESIDENT places).
 * Too few places: a later kernel fills them and waits for one that cannot start. Then the host chains the kernels instead
 * (CHAINED), as the design says for communicators whose blocks do not all fit.
 *
 * Memory assumed: M11 (each block's stores are visible to the device before it adds to the counter: agent-scope release by
 * every block, because the last block's own release covers only its own stores), M7 (the counter is one atomic), M12.
 *
 * CHECK pass safety
 * CHECK pass safety -DRESIDENT=3 -DCHAINED
 * CHECK pass safety -DRESIDENT=1 -DCHAINED
 * CHECK find deadlock -DRESIDENT=2
 * CHECK find assert -DBREAK_NO_TICKET
 * CHECK find assert -DBREAK_FIRST_BLOCK_COUNTS
 * CHECK find assert -DBREAK_NO_RELEASE
 * CHECK find deadlock -DBREAK_RESET_AFTER_DONE
 * CHECK find deadlock -DBREAK_SPLIT_COUNTER
 * CHECK find assert -DBREAK_UNSIGNED
 * CHECK find assert -DREACH=1
 */
#include "common.h"
#define KERNELS 4
#define STREAMS 2
#define MAX_BLOCKS 2
#ifndef RESIDENT
#define RESIDENT (KERNELS * MAX_BLOCKS)
#endif
#define FIRST (WRAP - 2) /* tickets wrap in the middle of the run */

byte blocks[KERNELS], finished[KERNELS]; /* of kernel k: launched with, ended */
byte places = RESIDENT;
byte done = FIRST;
byte counter;               /* blocks of the running kernel that have finished */
byte region[MAX_BLOCKS];    /* what block b stored last: kernel + 1 */
bool pending[KERNELS * MAX_BLOCKS]; /* block b of kernel k has a store on its way */
byte inside[KERNELS];       /* blocks of kernel k that use the region now */

inline land(k, b) {
  if
  :: pending[(k) * MAX_BLOCKS + (b)] -> pending[(k) * MAX_BLOCKS + (b)] = false; region[b] = (k) + 1
  :: else
  fi
}

proctype Block(byte k; byte b) {
  byte old, other;
  /* The stream runs its kernels in order. */
  (k < STREAMS || finished[k - STREAMS] == blocks[k - STREAMS]);
#ifdef CHAINED
  (k == 0 || finished[k - 1] == blocks[k - 1]);
#endif
  atomic { places > 0 -> places-- };
#ifndef BREAK_NO_TICKET
  AT_OR_AFTER(done, WRAPPED(FIRST + k));
#endif
  atomic {
    inside[k]++;
    for (other : 0 .. KERNELS - 1) { assert(other == k || inside[other] == 0) };
    /* What the kernels before have stored is there, from whichever of them used this part of the region last. */
    other = k;
    do
    :: other > 0 && blocks[other - 1] > b -> assert(region[b] == other); break
    :: other > 0 && blocks[other - 1] <= b -> other--
    :: other == 0 -> break
    od;
    other = 0;
    pending[k * MAX_BLOCKS + b] = true
  };
  atomic {
    inside[k]--;
#ifndef BREAK_NO_RELEASE
    land(k, b)
#endif
  };
#ifdef BREAK_SPLIT_COUNTER /* load, add, store instead of one atomic */
  old = counter;
  counter = old + 1;
#else
  atomic { old = counter; counter++ };
#endif
#ifdef BREAK_FIRST_BLOCK_COUNTS
  if
  :: old == 0 -> done = WRAPPED(done + 1)
  :: else
  fi;
  if
  :: old + 1 == blocks[k] -> counter = 0
  :: else
  fi;
#else
  if
  :: old + 1 == blocks[k] ->
    WITNESS(1, k == 3 && blocks[0] != blocks[1]);
#ifdef BREAK_RESET_AFTER_DONE
    done = WRAPPED(done + 1);
    counter = 0
#else
    counter = 0;
    done = WRAPPED(done + 1)
#endif
  :: else
  fi;
#endif
  atomic { finished[k]++; places++; land(k, b) } /* the end of a kernel releases everything */
}

init {
  byte k, b;
  atomic {
    for (k : 0 .. KERNELS - 1) {
      select(b : 1 .. MAX_BLOCKS);
      blocks[k] = b
    };
    for (k : 0 .. KERNELS - 1) {
      b = 0;
      do
      :: b < blocks[k] -> run Block(k, b); b++
      :: else -> break
      od
    }
  };
  for (k : 0 .. KERNELS - 1) { finished[k] == blocks[k] }
}
