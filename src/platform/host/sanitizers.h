// What ThreadSanitizer and AddressSanitizer must be told about fibers, arenas and stream order.
// Every function here is empty in a plain build. libhiphost itself is compiled without TSAN
// instrumentation (CMakeLists.txt): its own locks must not become happens-before edges, or they
// would hide the races of the programs above it. Edges are made by release/acquire below only.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_HOST_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(WEFT_HOST_TSAN)
extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_acquire(void* token);
void __tsan_release(void* token);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
}
#endif

namespace weft::hiphost::sanitize {

// Everything before release(token) happens before what follows acquire(token).
inline void release([[maybe_unused]] void* token) {
#if defined(WEFT_HOST_TSAN)
  __tsan_release(token);
#endif
}
inline void acquire([[maybe_unused]] void* token) {
#if defined(WEFT_HOST_TSAN)
  __tsan_acquire(token);
#endif
}

// Between the two this thread's accesses and its use of locks are invisible to TSAN (malloc, memcpy
// in the runtime's own containers). Nest freely; release and acquire do nothing inside.
inline void ignore_begin() {
#if defined(WEFT_HOST_TSAN)
  __tsan_ignore_thread_begin();
#endif
}
inline void ignore_end() {
#if defined(WEFT_HOST_TSAN)
  __tsan_ignore_thread_end();
#endif
}
struct Ignore {
  Ignore() { ignore_begin(); }
  ~Ignore() { ignore_end(); }
  Ignore(const Ignore&) = delete;
  Ignore& operator=(const Ignore&) = delete;
};

inline void poison([[maybe_unused]] const void* at, [[maybe_unused]] size_t bytes) {
#if defined(WEFT_HOST_ASAN)
  __asan_poison_memory_region(at, bytes);
#endif
}
inline void unpoison([[maybe_unused]] const void* at, [[maybe_unused]] size_t bytes) {
#if defined(WEFT_HOST_ASAN)
  __asan_unpoison_memory_region(at, bytes);
#endif
}

#if defined(WEFT_HOST_ASAN)
inline constexpr bool kAddress = true;
#else
inline constexpr bool kAddress = false;
#endif
#if defined(WEFT_HOST_TSAN)
inline constexpr bool kThread = true;
#else
inline constexpr bool kThread = false;
#endif

}  // namespace weft::hiphost::sanitize
