/* Simple FIFO: slots with their own ready flags, a credit counter back, no reset between operations (design invariants 2, 4, 9).
 *
 * One sender, one receiver, D slots in the receiver's memory. Slice c (counted over all operations, never reset, wrapping) goes
 * into slot c mod D, so D is a power of two (D=3 must fail: 2^32 is no multiple of it). The slot's ready flag is one 8-byte word {counter32 | signature32}: the counter says that slice c is there
 * (compared by signed difference), the signature says for which call, so that a receiver checks the word of the very slot
 * that it is about to use. The sender waits until c - consumed < D, and may run ahead into the next operations.
 * The two ranks may disagree about one operation (different signature); the receiver must notice before it uses a slice,
 * and must never report a mismatch where there is none.
 *
 * Memory is modelled weaker than any target: every store of the sender goes to a store buffer and becomes visible at any
 * later time in any order between addresses; the receiver may have loaded (cached) a slot's data at any earlier time.
 * Assumed: M1 (the flag word is not torn), M3 (per-address order), M4 (drain + release before the flag store), M6 (acquire
 * after the poll drops what was loaded before), M5 (loads have finished before the credit is stored).
 *
 * CHECK pass safety -DD=1
 * CHECK pass safety -DD=2
 * CHECK find assert -DD=3
 * CHECK find assert -DD=1 -DBREAK_NO_RELEASE
 * CHECK find assert -DD=2 -DBREAK_NO_RELEASE
 * CHECK find assert -DD=2 -DBREAK_NO_ACQUIRE
 * CHECK find assert -DD=1 -DBREAK_CREDIT_BEFORE_LOADS
 * CHECK find assert -DD=2 -DBREAK_CREDIT_BEFORE_LOADS
 * CHECK find assert -DD=2 -DBREAK_NO_CREDIT
 * CHECK find assert -DD=2 -DBREAK_ONE_TOO_MANY
 * CHECK find assert -DD=2 -DBREAK_UNSIGNED
 * CHECK find assert -DD=2 -DBREAK_RESET_PER_OPERATION
 * CHECK find assert -DD=2 -DBREAK_SIGNATURE_PER_CONNECTION
 * CHECK find assert -DD=2 -DBREAK_SIGNATURE_IGNORED
 * CHECK find assert -DD=2 -DBREAK_TORN_FLAG
 * CHECK find deadlock -DD=2 -DBREAK_MISMATCH_NOT_TOLD
 * CHECK find assert -DD=2 -DREACH=1
 * CHECK find assert -DD=2 -DREACH=2
 */
#define WRAP 4 /* the smallest for two slots: D <= WRAP / 2 */
#include "common.h"
#ifndef D
#define D 2
#endif
#define GHOST (2 * WRAP) /* true slice number, two wraps wide */
#define CONSUMED GHOST
#define PLANS 4          /* the sender is at most D operations ahead */
#define MAX_SLICES 2

/* Receiver's memory, as it is visible there. */
byte data[D];
byte flag_counter[D] = WRAPPED(GHOST - 3); /* written at init: zeroed memory would match the first slices after a wrap */
bool flag_signature[D];
bool connection_signature; /* what BREAK_SIGNATURE_PER_CONNECTION looks at instead */
/* Sender's store buffer: at most one store per address; a second one to it makes the first visible (M3). */
byte pending_data[D], pending_counter[D];
bool pending_signature[D];
bool has_data[D], has_counter[D], has_signature[D];
/* What the receiver has loaded too early from the slot that it waits for (D: it waits for none). */
byte wanted = D, cached;
bool is_cached;
byte credit = GHOST - 2; /* visible in the sender's memory: slices consumed */
bool stop;               /* the mismatch was told to the sender (abort word) */

typedef Plan { byte slices; bool signature; bool differs; bool taken }
Plan plan[PLANS];
bool mismatch_used; /* at most one mismatch, or a model of mismatches would be all that is left */

inline make_visible(s) {
  if
  :: has_data[s] -> data[s] = pending_data[s]; pending_data[s] = 0; has_data[s] = false
  :: else
  fi
}
inline make_flag_visible(s) {
  if
  :: has_counter[s] -> flag_counter[s] = pending_counter[s]; pending_counter[s] = 0; has_counter[s] = false
  :: else
  fi;
  if
  :: has_signature[s] -> flag_signature[s] = pending_signature[s]; pending_signature[s] = 0; has_signature[s] = false
  :: else
  fi
}

/* What the memory system does on its own. */
active proctype Memory() {
  byte s;
end:
  do
  :: atomic { has_data[0] -> make_visible(0) }
#ifdef BREAK_TORN_FLAG /* two 4-byte stores instead of one of 8 bytes */
  :: atomic { has_counter[0] -> flag_counter[0] = pending_counter[0]; pending_counter[0] = 0; has_counter[0] = false }
  :: atomic { has_signature[0] -> flag_signature[0] = pending_signature[0]; pending_signature[0] = 0; has_signature[0] = false }
#else
  :: atomic { has_counter[0] -> make_flag_visible(0) }
#endif
#if D > 1
  :: atomic { has_data[1] -> make_visible(1) }
  :: atomic { has_counter[1] -> make_flag_visible(1) }
#endif
#if D > 2
  :: atomic { has_data[2] -> make_visible(2) }
  :: atomic { has_counter[2] -> make_flag_visible(2) }
#endif
  :: atomic { (wanted != D && !is_cached) -> cached = data[wanted]; is_cached = true }
  od
}

#ifdef BREAK_NO_CREDIT
#define HAVE_CREDIT true
#elif defined(BREAK_UNSIGNED)
#define HAVE_CREDIT (WRAPPED(credit) + D > WRAPPED(c))
#elif defined(BREAK_ONE_TOO_MANY)
#define HAVE_CREDIT (DISTANCE(WRAPPED(c), WRAPPED(credit)) <= D)
#else
#define HAVE_CREDIT (DISTANCE(WRAPPED(c), WRAPPED(credit)) < D)
#endif

inline take_plan() {
  if
  :: plan[op].slices != 0
  :: else ->
    select(slot : 1 .. MAX_SLICES); plan[op].slices = slot; slot = 0;
    if
    :: plan[op].signature = 0
    :: plan[op].signature = 1
    fi;
    if
    :: !mismatch_used -> plan[op].differs = 1; mismatch_used = true
    :: plan[op].differs = 0
    fi
  fi;
  left = plan[op].slices; signature = plan[op].signature; differs = plan[op].differs;
  if /* the second of the two frees the entry */
  :: plan[op].taken ->
    plan[op].slices = 0; plan[op].signature = 0; plan[op].differs = 0; plan[op].taken = false
  :: else -> plan[op].taken = true
  fi;
  op = (op + 1) % PLANS
}

active proctype Sender() {
  byte c = GHOST - 2, op, left, slot;
  bool signature, differs;
end:
  do
  :: atomic {
      take_plan();
      differs = false;
      connection_signature = signature
    };
#ifdef BREAK_RESET_PER_OPERATION
    c = 0; credit = 0;
#endif
    do
    :: left > 0 ->
      if
      :: HAVE_CREDIT && !stop
      :: stop -> goto done
      fi;
      slot = c % D;
      atomic { make_visible(slot); pending_data[slot] = c; has_data[slot] = true };
#ifndef BREAK_NO_RELEASE
      !has_data[slot]; /* drain: every earlier store is visible */
#endif
      atomic {
        make_flag_visible(slot);
        pending_counter[slot] = WRAPPED(c); has_counter[slot] = true;
        pending_signature[slot] = signature; has_signature[slot] = true;
        c = (c + 1) % GHOST; left--; slot = 0
      }
    :: else -> break
    od
  od;
done:
  skip
}

#ifdef BREAK_SIGNATURE_PER_CONNECTION
#define SEEN_SIGNATURE connection_signature
#else
#define SEEN_SIGNATURE flag_signature[slot]
#endif

active proctype Receiver() {
  byte c = GHOST - 2, op, left, slot, value;
  bool signature, differs;
end:
  do
  :: atomic {
      take_plan();
      signature = signature ^ differs
    };
#ifdef BREAK_RESET_PER_OPERATION
    c = 0; credit = 0;
#endif
    do
    :: left > 0 ->
      atomic { slot = c % D; wanted = slot };
      AT_OR_AFTER(flag_counter[slot], WRAPPED(c)); /* relaxed poll, one 8-byte load */
#ifndef BREAK_SIGNATURE_IGNORED
      if
      :: SEEN_SIGNATURE != signature ->
        assert(differs); /* never a false mismatch */
        WITNESS(1, true);
        goto mismatch
      :: SEEN_SIGNATURE == signature
      fi;
#endif
#ifndef BREAK_NO_ACQUIRE
      atomic { is_cached = false; wanted = D };
#endif
      assert(!differs); /* never use a slice of another call */
#ifdef BREAK_CREDIT_BEFORE_LOADS
      credit = (credit + 1) % GHOST;
#endif
      atomic { value = (is_cached -> cached : data[slot]); assert(value == c) };
      WITNESS(2, c == 0 && left == 2);
      atomic {
#ifndef BREAK_CREDIT_BEFORE_LOADS
        credit = (credit + 1) % GHOST;
#endif
        data[slot] = (data[slot] == value -> CONSUMED : data[slot]);
        is_cached = false; cached = 0; wanted = D;
        c = (c + 1) % GHOST; left--; value = 0; slot = 0
      }
    :: else -> break
    od
  od;
mismatch:
#ifndef BREAK_MISMATCH_NOT_TOLD
  stop = true
#else
  skip
#endif
}

init { skip }
