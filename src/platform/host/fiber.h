// A fiber: a stack, a saved position, and the lane that runs on it. Owns stacks (with a guard page,
// reused) and the switch between two fibers of one thread. Which fiber runs next is worker.cc's
// business.
#pragma once

#include <hip/hip_host.h>

#include <cstddef>

#include "sanitizers.h"

namespace weft::hiphost {

struct Block;

// Addresses a fiber polled since its last success; more than this many are not told apart.
inline constexpr unsigned kPolledAddresses = 4;

struct Fiber {
  void* position = nullptr;  // saved stack pointer while not running
  Fiber* next = nullptr;     // ring of runnable fibers of the worker, or list of parked lanes
  Fiber* previous = nullptr;
  Block* block = nullptr;
  hipHostLane lane = {};
  const volatile void* polled[kPolledAddresses] = {};
  unsigned polled_count = 0;

  char* stack = nullptr;  // lowest usable byte; null for the thread's own stack
  size_t stack_bytes = 0;
  void* tsan = nullptr;
  void* asan_fake_stack = nullptr;
};

// A fiber that enters `entry` (which never returns) at its first switch; null when the system gives
// no stack.
Fiber* new_fiber(size_t stack_bytes, void (*entry)());
// Makes a fiber that has ended ready to enter `entry` again.
void rewind_fiber(Fiber& fiber, void (*entry)());
void delete_fiber(Fiber* fiber);
// The calling thread as a fiber, so that it can be switched to.
void adopt_thread(Fiber& fiber);

// Leaves `from`, continues `to`; returns when something switches back to `from`. `from_ends`: it
// never will.
void switch_fiber(Fiber& from, Fiber& to, bool from_ends = false);
// First thing on a new fiber's stack: completes the switch that entered it.
void entered_fiber(Fiber& self);

}  // namespace weft::hiphost
