// Waking sleepers. A worker that saw no success publishes the addresses its fibers poll as a
// 512-bit mask in a slot of a page of bells, looks once more, and sleeps on the slot. A store
// followed by ring_address wakes exactly the slots whose mask holds the address: in this process,
// or in the process that owns the arena, or in others that polled that arena.
#pragma once

#include <cstdint>
#include <vector>

#include "shared_layout.h"

namespace weft::hiphost {

// This process's page; created at start of the runtime.
BellPage* own_bells();
void create_own_bells(int workers);
int own_bells_fd();
uint64_t own_bells_inode();

// A store to `address` was made. `self` is the caller's own slot, which need not be rung: its
// fibers are polled anyway. `everyone`: whatever the masks say (host threads, which may have
// changed an abort word that no mask shows).
void ring_address(const volatile void* address, const BellSlot* self, bool everyone);
// New work for the owner of `slot`.
void ring_slot(BellPage& page, BellSlot& slot);

// The sleeping places of one worker.
class Seats {
 public:
  explicit Seats(int worker_index);
  ~Seats();
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;

  BellSlot& own() { return *seats_.front().slot; }
  void ring_own() { ring_slot(*seats_.front().page, own()); }

  // Announce; the caller then polls once more before wait(). Addresses are those the fibers poll;
  // none: only new work wakes.
  void announce(const std::vector<const volatile void*>& addresses);
  // Sleeps until rung or `timeout_ns`. True when rung.
  bool wait(int64_t timeout_ns);
  void withdraw();

 private:
  struct Seat {
    BellPage* page;
    BellSlot* slot;
    uint32_t seen;
    bool announced;
    uint64_t mask[kMaskWords];
  };
  Seat* seat_in(BellPage* page);
  std::vector<Seat> seats_;
};

}  // namespace weft::hiphost
