// Memory that a program announced: ncclCommRegister and windows. Owns: the tables of one
// communicator. Does not own: mappings of it between ranks, which are made by whoever uses the
// tables. Handles are numbers, used once in a process: one that was taken back, or of another
// communicator, is found out and not followed.
#pragma once

#include <rccl/rccl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace weft {

struct Registration {
  uintptr_t begin;
  size_t bytes;
};

// Any thread.
class Registrations {
 public:
  void* add(const Registration& registration);
  bool remove(const void* handle);  // false: there is none
  // One that holds all of [begin, begin + bytes).
  std::optional<Registration> find(uintptr_t begin, size_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<const void*, Registration> all_;
};

// Throws Error(ncclInvalidArgument) for what is no device memory.
Registration make_registration(const char* function, const void* buffer, size_t bytes);

// A buffer of every rank under one name.
struct Window {
  struct Part {
    uint64_t bytes;
    uint64_t offset;  // from the start of its allocation
  };
  void* base;  // of this rank
  bool symmetric;
  std::vector<Part> parts;  // by rank
};

// Any thread.
class Windows {
 public:
  ncclWindow_t add(Window window);
  bool remove(ncclWindow_t handle);
  std::shared_ptr<const Window> find(ncclWindow_t handle) const;  // null: there is none

 private:
  mutable std::mutex mutex_;
  std::map<ncclWindow_t, std::shared_ptr<const Window>> all_;
};

}  // namespace weft
