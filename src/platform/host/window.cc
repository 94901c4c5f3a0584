// Reserves the window and hands out slots. The mapping into a slot is arena.cc's.
#include "window.h"

#include <sys/mman.h>

#include <bit>
#include <mutex>
#include <new>

#include "sanitizers.h"
#include "sync.h"

namespace weft::hiphost {
namespace {

// Enough for the devices of this process and of the others of a node; TSAN has room for less.
constexpr size_t kWantedBytes = size_t{sanitize::kThread ? 1 : 32} << 40;
constexpr size_t kLeastSlots = 8;

Lock window_lock;

}  // namespace

Window& Window::get() {
  static Window window;
  return window;
}

void Window::reserve(size_t slot_bytes) {
  size_t slots = kWantedBytes / slot_bytes;
  if (slots > kMaxSlots) slots = kMaxSlots;
  for (; slots >= kLeastSlots; slots /= 2) {
    void* at = mmap(nullptr, (slots + 1) * slot_bytes, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    const uintptr_t aligned =
        (reinterpret_cast<uintptr_t>(at) + slot_bytes - 1) & ~(slot_bytes - 1);
    base_.store(aligned, std::memory_order_relaxed);
    shift_.store(static_cast<unsigned>(std::countr_zero(slot_bytes)), std::memory_order_relaxed);
    count_.store(slots, std::memory_order_release);
    return;
  }
  throw std::bad_alloc();
}

char* Window::take(size_t bytes) {
  const std::lock_guard guard(window_lock);
  const size_t slot_bytes = size_t{1} << shift_, need = (bytes + slot_bytes - 1) / slot_bytes;
  size_t run = 0;
  for (size_t i = 0; i < count_; ++i) {
    run = taken_[i] ? 0 : run + 1;
    if (run < need) continue;
    const size_t first = i + 1 - need;
    for (size_t k = first; k <= i; ++k) taken_[k] = true;
    return reinterpret_cast<char*>(base_ + first * slot_bytes);
  }
  return nullptr;
}

void Window::publish(char* base, size_t bytes, Arena* arena) {
  const size_t slot_bytes = size_t{1} << shift_;
  const size_t first = (reinterpret_cast<uintptr_t>(base) - base_) / slot_bytes;
  for (size_t k = 0; k * slot_bytes < bytes; ++k) {
    table_[first + k].store(arena, std::memory_order_release);
  }
}

void Window::give_back(char* base, size_t bytes) {
  publish(base, bytes, nullptr);
  const size_t slot_bytes = size_t{1} << shift_, slots = (bytes + slot_bytes - 1) / slot_bytes;
  mmap(base, slots * slot_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
       -1, 0);
  const std::lock_guard guard(window_lock);
  const size_t first = (reinterpret_cast<uintptr_t>(base) - base_) / slot_bytes;
  for (size_t k = 0; k < slots; ++k) taken_[first + k] = false;
}

}  // namespace weft::hiphost
