// The page of bells and the sleeping protocol. Pairs: announce() stores `sleeping` and the mask,
// fences, and then polls flags; ring_address() runs after the caller's store of a flag, fences, and
// then loads `waiting`. One of the two sees the other.
#include "bell.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>

#include "arena.h"

namespace weft::hiphost {
namespace {

constexpr uint64_t kBellMagic = 0x736c6c6562746677ull;
// A worker with seats in several pages on a kernel without futex_waitv looks itself this often.
constexpr int64_t kNoWaitvNs = 1000000;
constexpr long kFutexWaitvCall = 449;
constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ull;

BellPage* page_of_process = nullptr;
int page_fd = -1;
uint64_t page_inode = 0;
Lock seat_lock;

// Equal in every process that maps the arena: made of the place in the arena, not of the address.
unsigned mask_bit(const Arena* arena, const volatile void* address) {
  uint64_t key = reinterpret_cast<uintptr_t>(address);
  if (arena != nullptr) {
    key = key - reinterpret_cast<uintptr_t>(arena->base()) + (arena->inode() << 40);
  }
  return static_cast<unsigned>(((key >> 2) * kGolden) >> 55);  // 9 bits of 512
}

BellPage* page_for(const Arena* arena) {
  return arena != nullptr && arena->bells() != nullptr ? arena->bells() : page_of_process;
}

// Takes the slot out of sleep: true for the one caller that has to wake it.
bool claim_wake(BellPage& page, BellSlot& slot) {
  const uint32_t was = slot.sleeping.exchange(kAwake);
  if (was == kWaiting) page.waiting.fetch_sub(1);
  return was != kAwake;
}

[[gnu::noinline]] void ring_page(BellPage& page, const Arena* arena, const volatile void* address,
                                 const BellSlot* self, bool everyone) {
  const unsigned bit = mask_bit(arena, address);
  const uint64_t mask = uint64_t{1} << (bit % 64);
  const uint32_t used = page.used.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < used && i < kBellSlots; ++i) {
    BellSlot& slot = page.slots[i];
    if (&slot == self || slot.sleeping.load(std::memory_order_relaxed) != kWaiting) continue;
    if (!everyone && (slot.mask[bit / 64].load(std::memory_order_relaxed) & mask) == 0) continue;
    slot.sequence.fetch_add(1);
    if (claim_wake(page, slot)) futex_wake(slot.sequence, 1, true);
  }
}

struct WaitV {
  uint64_t value, address;
  uint32_t flags, reserved;
};
constexpr uint32_t kFutex32 = 2;

}  // namespace

BellPage* own_bells() { return page_of_process; }
int own_bells_fd() { return page_fd; }
uint64_t own_bells_inode() { return page_inode; }

void create_own_bells(int workers) {
  const int fd = memfd_create("weft-host-bells", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, sizeof(BellPage)) != 0) throw std::bad_alloc();
  void* at = mmap(nullptr, sizeof(BellPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  struct stat status = {};
  fstat(fd, &status);
  page_of_process = static_cast<BellPage*>(at);
  page_of_process->magic = kBellMagic;
  page_of_process->version = kLayoutVersion;
  page_of_process->process = static_cast<uint32_t>(getpid());
  page_of_process->workers = static_cast<uint32_t>(workers);
  page_fd = fd;
  page_inode = status.st_ino;
}

void ring_address(const volatile void* address, const BellSlot* self, bool everyone) {
  const Arena* arena = find_arena(address);
  BellPage* page = page_for(arena);
  full_fence();  // partner: the fence in Seats::announce
  if (page == nullptr || page->waiting.load(std::memory_order_relaxed) == 0) return;
  ring_page(*page, arena, address, self, everyone);
}

void ring_slot(BellPage& page, BellSlot& slot) {
  slot.sequence.fetch_add(1);
  if (claim_wake(page, slot)) futex_wake(slot.sequence, 1, true);
}

Seats::Seats(int worker_index) {
  BellSlot* slot = &page_of_process->slots[worker_index];
  slot->owner.store(static_cast<uint32_t>(getpid()));
  uint32_t used = page_of_process->used.load();
  const uint32_t need = static_cast<uint32_t>(worker_index) + 1;
  while (used < need && !page_of_process->used.compare_exchange_weak(used, need)) {
  }
  seats_.push_back({page_of_process, slot, 0, false, {}});
}

Seats::~Seats() {
  for (Seat& seat : seats_) seat.slot->owner.store(0);
}

// In the page of another process, past the slots of the owner's workers.
Seats::Seat* Seats::seat_in(BellPage* page) {
  for (Seat& seat : seats_) {
    if (seat.page == page) return &seat;
  }
  const auto me = static_cast<uint32_t>(getpid());
  for (uint32_t i = page->workers; i < kBellSlots; ++i) {
    BellSlot& slot = page->slots[i];
    uint32_t owner = slot.owner.load();
    const bool dead =
        owner != 0 && owner != me && kill(static_cast<pid_t>(owner), 0) != 0 && errno == ESRCH;
    if ((owner != 0 && !dead) || !slot.owner.compare_exchange_strong(owner, me)) continue;
    claim_wake(*page, slot);  // what a dead process may have left
    uint32_t used = page->used.load();
    const uint32_t need = i + 1;
    while (used < need && !page->used.compare_exchange_weak(used, need)) {
    }
    seats_.push_back({page, &slot, 0, false, {}});
    return &seats_.back();
  }
  return nullptr;
}

void Seats::announce(const std::vector<const volatile void*>& addresses) {
  const std::lock_guard guard(seat_lock);
  for (Seat& seat : seats_) memset(seat.mask, 0, sizeof seat.mask);
  for (const volatile void* address : addresses) {
    const Arena* arena = find_arena(address);
    Seat* seat = seat_in(page_for(arena));
    if (seat == nullptr) continue;  // page full: the backstop of wait() covers it
    const unsigned bit = mask_bit(arena, address);
    seat->mask[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  bool first = true;
  for (Seat& seat : seats_) {
    uint64_t any = 0;
    for (int i = 0; i < kMaskWords; ++i) {
      any |= seat.mask[i];
      seat.slot->mask[i].store(seat.mask[i], std::memory_order_relaxed);
    }
    seat.announced = first || any != 0;
    first = false;
    if (!seat.announced) continue;
    seat.seen = seat.slot->sequence.load();
    if (any != 0) seat.page->waiting.fetch_add(1);
    seat.slot->sleeping.store(any != 0 ? kWaiting : kIdle);
  }
  full_fence();  // partner: the fence in ring_address
}

bool Seats::wait(int64_t timeout_ns) {
  WaitV list[kBellSlots];
  unsigned count = 0;
  for (const Seat& seat : seats_) {
    if (!seat.announced || count == kBellSlots) continue;
    list[count++] = {seat.seen, reinterpret_cast<uintptr_t>(&seat.slot->sequence), kFutex32, 0};
  }
  const Seat& own = seats_.front();
  if (count == 1) {
    futex_wait(own.slot->sequence, own.seen, timeout_ns, true);
  } else {
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t end = until.tv_sec * kNsPerSecond + until.tv_nsec + timeout_ns;
    until = {end / kNsPerSecond, end % kNsPerSecond};
    const long rc = syscall(kFutexWaitvCall, list, count, 0,
                            timeout_ns == kForeverNs ? nullptr : &until, CLOCK_MONOTONIC);
    if (rc < 0 && errno == ENOSYS) futex_wait(own.slot->sequence, own.seen, kNoWaitvNs, true);
  }
  for (const Seat& seat : seats_) {
    if (seat.announced && seat.slot->sequence.load() != seat.seen) return true;
  }
  return false;
}

void Seats::withdraw() {
  for (Seat& seat : seats_) {
    if (seat.announced) claim_wake(*seat.page, *seat.slot);
    seat.announced = false;
  }
}

}  // namespace weft::hiphost
