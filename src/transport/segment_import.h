// Memory of other processes, mapped into this one: segments of their arenas, buffers of their
// programs. Each is opened once an importing device and counted: several communicators and boxes
// share one mapping, the last user closes it. Owns: the cache of mappings. Does not own: the
// exporter's side (arena.h, peer_access.h).
#pragma once

#include <hip/hip_runtime.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft {

// What is mapped: a segment or a buffer of a process, by its number there.
struct SegmentKey {
  enum Kind : uint8_t { kArena, kBuffer };
  uint64_t process_hash;
  Kind kind;
  uint64_t number;
  auto operator<=>(const SegmentKey&) const = default;
};

// A counted use of one mapping. Empty when default-constructed, moved from or closed. Any thread.
class SegmentImport {
 public:
  SegmentImport() = default;
  SegmentImport(SegmentImport&& other) noexcept;
  SegmentImport& operator=(SegmentImport&& other) noexcept;
  ~SegmentImport() { close(); }

  // On the current device. Not able to: empty, and `error` says why.
  static SegmentImport open(const SegmentKey& key, const hipIpcMemHandle_t& handle,
                            std::string& error);
  char* base() const { return base_; }
  void close() noexcept;

 private:
  char* base_ = nullptr;
  SegmentKey key_{};
  int device_ = 0;
};

// For tests: mappings open in this process.
size_t open_segment_imports();

}  // namespace weft
