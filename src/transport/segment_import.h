// Arena segments of other processes, mapped into this one. A segment is opened once per (process,
// importing device) and counted: several communicators and boxes share one mapping, the last user
// closes it. Owns: the cache of open segments. Does not own: the exporter's side (arena.h).
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft {

// A counted use of one mapping. Empty when default-constructed, moved from or closed. Any thread.
class SegmentImport {
 public:
  SegmentImport() = default;
  SegmentImport(SegmentImport&& other) noexcept;
  SegmentImport& operator=(SegmentImport&& other) noexcept;
  ~SegmentImport() { close(); }

  // Opens segment `segment` of the process `process_hash` on the current device. Not able to:
  // empty, and `error` says why.
  static SegmentImport open(uint64_t process_hash, uint32_t segment,
                            const hipIpcMemHandle_t& handle, std::string& error);
  char* base() const { return base_; }
  void close() noexcept;

 private:
  char* base_ = nullptr;
  uint64_t process_ = 0;
  uint32_t segment_ = 0;
  int device_ = 0;
};

// For tests: mappings open in this process.
size_t open_segment_imports();

}  // namespace weft
