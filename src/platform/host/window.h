// One reserved range of addresses, cut into slots of the size of a device, in which every arena is
// mapped. It makes "which arena holds this address" a subtraction and a table look-up, which every
// store that may wake a sleeper performs (bell.cc).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::hiphost {

class Arena;

class Window {
 public:
  static Window& get();
  // Addresses for `bytes` (rounded up to whole slots), or null. give_back leaves them reserved and
  // free.
  char* take(size_t bytes);
  void give_back(char* base, size_t bytes);
  void publish(char* base, size_t bytes, Arena* arena);

  Arena* find(const volatile void* p) const {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(p) - base_.load(std::memory_order_relaxed);
    const uintptr_t slot = offset >> shift_.load(std::memory_order_relaxed);
    return slot < count_.load(std::memory_order_acquire)
               ? table_[slot].load(std::memory_order_acquire)
               : nullptr;
  }

  // Reserves; once, before the first arena.
  void reserve(size_t slot_bytes);

 private:
  static constexpr size_t kMaxSlots = 1024;
  std::atomic<uintptr_t> base_{0};
  std::atomic<unsigned> shift_{0};
  std::atomic<size_t> count_{0};
  bool taken_[kMaxSlots] = {};
  std::atomic<Arena*> table_[kMaxSlots] = {};
};

}  // namespace weft::hiphost
