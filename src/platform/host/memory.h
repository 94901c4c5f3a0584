// Every piece of memory the runtime knows: what was allocated, registered or imported, by address.
// Owns the table; the bytes are an arena's or the program's.
#pragma once

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::hiphost {

class Arena;

struct Allocation {
  char* base = nullptr;
  size_t bytes = 0;
  hipMemoryType type = hipMemoryTypeDevice;
  int device = 0;
  unsigned flags = 0;
  uint64_t id = 0;         // never used twice in a process
  Arena* arena = nullptr;  // null: registered memory of the program
  bool imported = false;
};

std::optional<Allocation> find_allocation(const volatile void* p);
void insert_allocation(Allocation allocation);  // gives it an id
// Removes the entry that starts at `base`.
std::optional<Allocation> remove_allocation(const void* base);

struct AllocationRequest {
  int device = 0;
  size_t bytes = 0;
  hipMemoryType type = hipMemoryTypeDevice;
  unsigned flags = 0;
};
hipError_t allocate(const AllocationRequest& request, void** pointer);
// The memory of an allocation that has left the table goes back to its arena.
void give_back(const Allocation& allocation);

// Is one of these in memory that the program registered (and may share with other processes)? For
// worker.cc's sleep.
bool any_registered(const std::vector<const volatile void*>& addresses);
// "0x7f.. (device 1, allocation of 4096 bytes, offset 64, holds 0x00000007)", for reports.
std::string describe_address(const volatile void* p);

}  // namespace weft::hiphost
