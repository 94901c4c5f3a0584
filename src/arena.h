// Device memory that other ranks may reach: one arena per (process, device), shared by all
// communicators, so that a device's memory is allocated and exported once however many
// communicators exist. Owns: segments (allocations), their export handles, and which ranges are
// carved. Does not own: mappings of other processes' segments (transport/segment_import.h), nor
// what is laid out in a carve (device/box.h).
//
// Rules. A range is handed out again only when its last owner confirmed that no peer writes to it
// any more; anything else is quarantined for the life of the process. Segments are reused and never
// freed: a peer process may still have them mapped.
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weft {

class Arena;

// A range of an arena, zeroed, 4 KiB aligned. Empty when default-constructed or released.
// Move-only.
class Carve {
 public:
  Carve() = default;
  Carve(Carve&& other) noexcept { swap(other); }
  Carve& operator=(Carve&& other) noexcept;
  // Like release(false): safe whoever still writes.
  ~Carve() { release(false); }

  explicit operator bool() const { return arena_ != nullptr; }
  char* data() const { return data_; }     // on the arena's device
  size_t bytes() const { return bytes_; }  // at least what was asked for
  uint32_t segment() const { return segment_; }
  size_t offset() const { return offset_; }  // from the base of the segment

  // `confirmed`: no peer and no kernel writes here any more, the range may be used again. Else it
  // is never used again.
  void release(bool confirmed) noexcept;

 private:
  friend class Arena;
  void swap(Carve& other) noexcept;

  Arena* arena_ = nullptr;
  char* data_ = nullptr;
  size_t bytes_ = 0;
  size_t offset_ = 0;
  uint32_t segment_ = 0;
};

// What another process needs to map a segment. `error` is not empty when the runtime refused to
// export it.
struct SegmentExport {
  hipIpcMemHandle_t handle;
  std::string error;
};

struct ArenaStats {
  size_t segments, bytes;  // allocated
  size_t carved;           // bytes in use
  size_t quarantined;      // bytes that are never used again
};

// Any thread. The current device of the caller is left as it was.
class Arena {
 public:
  // The arena of that device of this process; lives until the process ends.
  static Arena& of_device(int device);

  // Never waits for kernels that are running. Throws Error(ncclUnhandledCudaError) when the device
  // is out of memory. An empty Carve when the platform grants no memory that peers may reach:
  // refusal() then says why.
  Carve carve(size_t bytes);
  std::string refusal() const;

  // Exports the segment at the first call that succeeds; the same handle at every later one.
  SegmentExport export_segment(uint32_t segment);

  ArenaStats stats() const;

 private:
  friend class Carve;
  struct Segment {
    uint32_t id;
    char* base;
    size_t bytes;
    std::map<size_t, size_t> free;  // offset -> bytes, neighbours joined
    bool exported;
    hipIpcMemHandle_t handle;
  };

  explicit Arena(int device) : device_(device) {}
  bool take(size_t bytes, Carve& carve);
  bool add_segment(size_t bytes);
  Segment& find(uint32_t segment);
  void give_back(uint32_t segment, size_t offset, size_t bytes, bool confirmed) noexcept;
  void zero(const Carve& carve) const;

  const int device_;
  mutable std::mutex mutex_;
  std::vector<Segment> segments_;
  std::string refusal_;
  size_t carved_ = 0;
  size_t quarantined_ = 0;
};

}  // namespace weft
