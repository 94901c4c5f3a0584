// Creating, importing and cutting up arenas. Freed memory goes back to the system as soon as a
// megabyte of it lies together, so a long job of many sizes keeps no resident memory it does not
// use. Under AddressSanitizer everything that is not allocated is poisoned, in steps as the heap
// grows, and every block ends in a redzone. Next on the path: memory.cc.
#include "arena.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "window.h"

namespace weft::hiphost {
namespace {

constexpr size_t kAlignBytes = 256;
constexpr size_t kPageBytes = 4096;
constexpr size_t kPageAlignedFrom = size_t{64} << 10;
constexpr size_t kGiveBackBytes = size_t{1} << 20;
constexpr size_t kRedzoneBytes = sanitize::kAddress ? 256 : 0;
constexpr size_t kPoisonStepBytes = size_t{16} << 20;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

char* map_at(char* base, size_t bytes, int fd, int sharing) {
  void* at = mmap(base, bytes, PROT_READ | PROT_WRITE, sharing | MAP_NORESERVE | MAP_FIXED, fd, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, bytes, MADV_DONTDUMP);
  return static_cast<char*>(at);
}

}  // namespace

Arena* find_arena(const volatile void* p) { return Window::get().find(p); }

Arena* Arena::create(size_t bytes, uint32_t ordinal) {
  const int fd = memfd_create("weft-host-device", MFD_CLOEXEC);
  if (fd < 0) throw std::bad_alloc();
  char* at = ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? Window::get().take(bytes) : nullptr;
  if (at == nullptr || map_at(at, bytes, fd, MAP_SHARED) == nullptr) {
    close(fd);
    throw std::bad_alloc();
  }
  struct stat status = {};
  fstat(fd, &status);
  auto* arena = new Arena;
  arena->base_ = at;
  arena->bytes_ = bytes;
  arena->fd_ = fd;
  arena->inode_ = status.st_ino;
  arena->poisoned_end_ = kHeaderBytes;
  ArenaHeader& header = arena->header();
  header.magic = kArenaMagic;
  header.version = kLayoutVersion;
  header.process = static_cast<uint32_t>(getpid());
  header.arena_bytes = bytes;
  header.ordinal = ordinal;
  arena->insert_free(kHeaderBytes, bytes - kHeaderBytes);
  Window::get().publish(at, bytes, arena);
  return arena;
}

Arena* Arena::import(int fd, size_t bytes, bool lossy) {
  char* at = Window::get().take(bytes);
  const char* mapped =
      at == nullptr ? nullptr : map_at(at, bytes, fd, lossy ? MAP_PRIVATE : MAP_SHARED);
  struct stat status = {};
  fstat(fd, &status);
  close(fd);
  if (mapped == nullptr) {
    if (at != nullptr) Window::get().give_back(at, bytes);
    return nullptr;
  }
  auto* arena = new Arena;
  arena->base_ = at;
  arena->bytes_ = bytes;
  arena->inode_ = status.st_ino;
  const ArenaHeader& header = arena->header();
  if (header.magic != kArenaMagic || header.version != kLayoutVersion) {
    arena->unmap();
    return nullptr;
  }
  Window::get().publish(at, bytes, arena);
  return arena;
}

void Arena::unmap() {
  Window::get().give_back(base_, bytes_);
  delete this;
}

void Arena::insert_free(size_t offset, size_t bytes) {
  free_by_offset_.emplace(offset, bytes);
  free_by_size_.emplace(bytes, offset);
}

void Arena::erase_free(std::map<size_t, size_t>::iterator at) {
  free_by_size_.erase({at->second, at->first});
  free_by_offset_.erase(at);
}

void Arena::grow_poison(size_t end) {
  if (!sanitize::kAddress || end <= poisoned_end_) return;
  const size_t upto = std::min(round_up(end, kPoisonStepBytes), bytes_);
  sanitize::poison(base_ + poisoned_end_, upto - poisoned_end_);
  poisoned_end_ = upto;
}

void* Arena::allocate(size_t bytes) {
  if (bytes > heap_bytes()) return nullptr;
  const size_t align = bytes >= kPageAlignedFrom ? kPageBytes : kAlignBytes;
  const size_t need = round_up(std::max(bytes, size_t{1}) + kRedzoneBytes, kAlignBytes);
  for (auto it = free_by_size_.lower_bound({need, 0}); it != free_by_size_.end(); ++it) {
    const size_t from = it->second, room = it->first, offset = round_up(from, align);
    if (offset + need > from + room) continue;
    erase_free(free_by_offset_.find(from));
    if (offset > from) insert_free(from, offset - from);
    if (from + room > offset + need) insert_free(offset + need, from + room - offset - need);
    taken_.emplace(offset, need);
    used_bytes_ += need;
    grow_poison(offset + need + kRedzoneBytes);
    sanitize::unpoison(base_ + offset, bytes);
    return base_ + offset;
  }
  return nullptr;
}

void Arena::release(void* block) {
  const size_t offset = static_cast<size_t>(static_cast<char*>(block) - base_);
  const auto taken = taken_.find(offset);
  if (taken == taken_.end()) return;
  const size_t bytes = taken->second;
  taken_.erase(taken);
  used_bytes_ -= bytes;
  sanitize::poison(base_ + offset, bytes);

  size_t from = offset, end = offset + bytes;
  auto next = free_by_offset_.lower_bound(offset);
  if (next != free_by_offset_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == from) {
      from = before->first;
      erase_free(before);
    }
  }
  next = free_by_offset_.lower_bound(offset);
  if (next != free_by_offset_.end() && next->first == end) {
    end += next->second;
    erase_free(next);
  }
  insert_free(from, end - from);
  give_back_pages(offset, bytes, from, end - from);
}

// Small blocks may leave pages resident until their neighbours are free too; then up to a megabyte
// around them goes as well.
void Arena::give_back_pages(size_t offset, size_t bytes, size_t free_from, size_t free_bytes) {
  if (free_bytes < kGiveBackBytes) return;
  const size_t slack = bytes < kGiveBackBytes ? kGiveBackBytes : 0;
  const size_t low = std::max(free_from, offset > slack ? offset - slack : 0);
  const size_t high = std::min(free_from + free_bytes, offset + bytes + slack);
  const size_t first = round_up(low, kPageBytes), last = high / kPageBytes * kPageBytes;
  if (last > first) madvise(base_ + first, last - first, MADV_REMOVE);
}

}  // namespace weft::hiphost
