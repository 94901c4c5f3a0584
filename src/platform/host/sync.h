// Locks of the runtime: a futex word, and nothing that ThreadSanitizer takes for synchronisation of
// the program (sanitizers.h says why). Also the two futex calls everything that sleeps here is made
// of.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "sanitizers.h"

namespace weft::hiphost {

using Word = std::atomic<uint32_t>;
static_assert(sizeof(Word) == 4, "futex words are 32 bits");

inline constexpr int64_t kForeverNs = -1;
inline constexpr int64_t kNsPerSecond = 1000000000;

// Sleeps while *word == seen. Shared between processes when `shared`. Returns on wake, change,
// timeout or signal.
inline void futex_wait(const Word& word, uint32_t seen, int64_t timeout_ns, bool shared = false) {
  const timespec limit{timeout_ns / kNsPerSecond, timeout_ns % kNsPerSecond};
  syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word),
          FUTEX_WAIT | (shared ? 0 : FUTEX_PRIVATE_FLAG), seen,
          timeout_ns == kForeverNs ? nullptr : &limit, nullptr, 0);
}
inline void futex_wake(const Word& word, int count = INT_MAX, bool shared = false) {
  syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word),
          FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), count, nullptr, nullptr, 0);
}

inline int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * kNsPerSecond + t.tv_nsec;
}

// BasicLockable. Never held across a fiber switch, a callback or a system call that waits.
class Lock {
 public:
  void lock() {
    sanitize::ignore_begin();
    uint32_t seen = 0;
    if (word_.compare_exchange_strong(seen, 1, std::memory_order_acquire)) return;
    while (word_.exchange(2, std::memory_order_acquire) != 0) futex_wait(word_, 2, kForeverNs);
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2) futex_wake(word_, 1);
    sanitize::ignore_end();
  }

 private:
  Word word_{0};  // 0 free, 1 held, 2 held and somebody may sleep
};

// Orders every earlier store of this thread before every later load: half of the "store flag, look
// for sleepers" against "announce sleep, look at flag" pair of bell.cc. A locked add is twice as
// fast as mfence on x86-64.
inline void full_fence() {
#if defined(__x86_64__)
  asm volatile("lock; addl $0, (%%rsp)" ::: "memory", "cc");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace weft::hiphost
