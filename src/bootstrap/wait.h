// How long a wait may last and what ends it early. Owns: the pair (deadline, interrupt flag).
// Does not own: what is waited for. Every blocking function of this folder takes a Wait.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "error.h"

namespace weft {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The interrupt flag is a plain atomic that nobody signals, so waits look at it this often.
constexpr milliseconds kInterruptSlice{50};

struct Wait {
  Clock::time_point deadline;
  const std::atomic<bool>* interrupted = nullptr;
  const std::atomic<bool>* pointless = nullptr;  // set when what is waited for can no longer come

  static Wait within(milliseconds limit, const std::atomic<bool>* flag = nullptr) {
    return {Clock::now() + limit, flag};
  }
  bool expired() const { return Clock::now() >= deadline; }
  void check_interrupt() const {
    if (interrupted && interrupted->load(std::memory_order_relaxed))
      throw Error(ncclInvalidUsage, "aborted");
    if (pointless && pointless->load(std::memory_order_relaxed))
      throw Error(ncclRemoteError, "another rank gave up");
  }
  // The next moment at which the waiter must look up even if nothing happened.
  Clock::time_point next_look(Clock::time_point other = Clock::time_point::max()) const {
    auto at = std::min(deadline, other);
    return interrupted || pointless ? std::min(at, Clock::now() + kInterruptSlice) : at;
  }
};

// For poll(2): milliseconds until `at`, rounded up so that a deadline is never met by spinning; -1
// for never.
inline int poll_timeout_ms(Clock::time_point at) {
  if (at == Clock::time_point::max()) return -1;
  auto left = std::chrono::ceil<milliseconds>(at - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

}  // namespace weft
