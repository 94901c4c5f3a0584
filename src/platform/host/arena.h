// A device's memory: a memfd mapped into the window of addresses that the runtime reserves at
// start. Owns the mapping, and for arenas of this process the allocator inside. Does not own what
// an allocation means (memory.cc) or who else maps it (ipc.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "shared_layout.h"

namespace weft::hiphost {

class Arena {
 public:
  // A new arena of this process; throws std::bad_alloc when the machine gives no descriptor or no
  // addresses.
  static Arena* create(size_t bytes, uint32_t ordinal);
  // Maps another process's arena from `fd`, which it closes. Stores stay private when `lossy`. Null
  // when that fails.
  static Arena* import(int fd, size_t bytes, bool lossy);
  void unmap();  // imported arenas only; deletes this

  char* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  int fd() const { return fd_; }
  uint64_t inode() const { return inode_; }
  ArenaHeader& header() const { return *reinterpret_cast<ArenaHeader*>(base_); }
  bool contains(const void* p) const { return p >= base_ && p < base_ + bytes_; }
  BellPage* bells() const { return bells_; }
  void set_bells(BellPage* page) { bells_ = page; }

  // Null when there is no room. Blocks are 256-byte aligned, from 64 KiB on page aligned.
  void* allocate(size_t bytes);
  void release(void* block);
  size_t used_bytes() const { return used_bytes_; }
  size_t heap_bytes() const { return bytes_ - kHeaderBytes; }

 private:
  Arena() = default;
  void insert_free(size_t offset, size_t bytes);
  void erase_free(std::map<size_t, size_t>::iterator at);
  void give_back_pages(size_t offset, size_t bytes, size_t free_from, size_t free_bytes);
  void grow_poison(size_t end);

  char* base_ = nullptr;
  size_t bytes_ = 0;
  int fd_ = -1;
  uint64_t inode_ = 0;
  BellPage* bells_ = nullptr;
  std::map<size_t, size_t> free_by_offset_;
  std::set<std::pair<size_t, size_t>> free_by_size_;  // bytes, offset
  std::map<size_t, size_t> taken_;                    // offset, bytes with padding
  size_t used_bytes_ = 0;
  size_t poisoned_end_ = 0;
};

// The arena of this process (owned or imported) that holds `p`, or null. No lock: callable from
// kernels.
Arena* find_arena(const volatile void* p);

}  // namespace weft::hiphost
