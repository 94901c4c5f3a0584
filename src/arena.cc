#include "arena.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "device_scope.h"
#include "hip_check.h"
#include "platform_memory.h"
#include "side_stream.h"

namespace weft {
namespace {

constexpr size_t kCarveAlign = 4096;
// Below 2 MiB runtimes may place several allocations in one exportable block, and some refuse to
// export it (reference/rcclx.md 5.6).
constexpr size_t kSegmentAlign = size_t{2} << 20;
constexpr std::chrono::seconds kZeroLimit{30};

constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

// Unique in the process, over all arenas: peers name a segment by (process, id).
uint32_t next_segment_id() {
  static std::atomic<uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % kCarveAlign == 0; }

}  // namespace

Carve& Carve::operator=(Carve&& other) noexcept {
  if (this != &other) {
    release(false);
    swap(other);
  }
  return *this;
}

void Carve::swap(Carve& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(offset_, other.offset_);
  std::swap(segment_, other.segment_);
}

void Carve::release(bool confirmed) noexcept {
  if (!arena_) return;
  arena_->give_back(segment_, offset_, bytes_, confirmed);
  arena_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

Arena& Arena::of_device(int device) {
  // Never destroyed: communicators may outlive static destructors, and the HIP runtime may be gone
  // by then.
  static std::mutex mutex;
  static auto* arenas = new std::map<int, std::unique_ptr<Arena>>;
  std::lock_guard lock(mutex);
  auto& arena = (*arenas)[device];
  if (!arena) arena.reset(new Arena(device));
  return *arena;
}

Carve Arena::carve(size_t bytes) {
  Carve carve;
  if (bytes == 0) return carve;
  bytes = round_up(bytes, kCarveAlign);
  {
    std::lock_guard lock(mutex_);
    if (!take(bytes, carve)) {
      if (!add_segment(bytes)) return carve;
      if (!take(bytes, carve))
        fail(ncclInternalError, "a new segment does not hold {} bytes", bytes);
    }
  }
  try {
    zero(carve);
  } catch (...) {
    carve.release(false);
    throw;
  }
  return carve;
}

std::string Arena::refusal() const {
  std::lock_guard lock(mutex_);
  return refusal_;
}

// First fit: communicators of one process ask for few, equal sizes.
bool Arena::take(size_t bytes, Carve& carve) {
  for (Segment& segment : segments_) {
    for (auto range = segment.free.begin(); range != segment.free.end(); ++range) {
      const auto [offset, available] = *range;
      if (available < bytes) continue;
      segment.free.erase(range);
      if (available > bytes) segment.free.emplace(offset + bytes, available - bytes);
      carve.arena_ = this;
      carve.data_ = segment.base + offset;
      carve.bytes_ = bytes;
      carve.offset_ = offset;
      carve.segment_ = segment.id;
      carved_ += bytes;
      return true;
    }
  }
  return false;
}

bool Arena::add_segment(size_t bytes) {
  const size_t size = round_up(bytes, kSegmentAlign);
  DeviceScope scope(device_);
  std::string reasons;
  for (const auto& kind : platform::kPeerMemoryKinds) {
    void* base = nullptr;
    const hipError_t code = hipExtMallocWithFlags(&base, size, kind.flags);
    if (code == hipErrorOutOfMemory)
      hip_check(code, "allocating {} bytes of {} on device {}", size, kind.name, device_);
    if (code == hipSuccess && is_aligned(base)) {
      Segment& segment = segments_.emplace_back();
      segment.id = next_segment_id();
      segment.exported = false;
      segment.base = static_cast<char*>(base);
      segment.bytes = size;
      segment.free.emplace(0, size);
      refusal_.clear();
      return true;
    }
    (void)hipGetLastError();
    if (code == hipSuccess) (void)hipFree(base);
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : ", ", kind.name,
                           code == hipSuccess ? "not aligned to a page" : hip_text(code));
  }
  refusal_ = fmt::format("device {} grants no memory that peers may reach ({})", device_, reasons);
  return false;
}

Arena::Segment& Arena::find(uint32_t id) {
  const auto found =
      std::ranges::find_if(segments_, [id](const Segment& segment) { return segment.id == id; });
  if (found == segments_.end()) fail(ncclInternalError, "device {} has no segment {}", device_, id);
  return *found;
}

SegmentExport Arena::export_segment(uint32_t id) {
  std::lock_guard lock(mutex_);
  Segment& segment = find(id);
  if (segment.exported) return {segment.handle, ""};
  DeviceScope scope(device_);
  const hipError_t code = hipIpcGetMemHandle(&segment.handle, segment.base);
  segment.exported = code == hipSuccess;
  if (segment.exported) return {segment.handle, ""};
  (void)hipGetLastError();
  return {{},
          fmt::format("hipIpcGetMemHandle of {} bytes on device {}: {}", segment.bytes, device_,
                      hip_text(code))};
}

void Arena::give_back(uint32_t id, size_t offset, size_t bytes, bool confirmed) noexcept {
  std::lock_guard lock(mutex_);
  carved_ -= bytes;
  if (!confirmed) {
    quarantined_ += bytes;
    return;
  }
  auto& free = find(id).free;
  auto after = free.upper_bound(offset);
  if (after != free.end() && after->first == offset + bytes) {
    bytes += after->second;
    after = free.erase(after);
  }
  if (after != free.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free.emplace(offset, bytes);
}

// On a stream of its own: the null stream would wait for kernels of other communicators that wait
// for us.
void Arena::zero(const Carve& carve) const {
  DeviceScope scope(device_);
  SideStream stream;
  hip_check(hipMemsetAsync(carve.data(), 0, carve.bytes(), stream.get()),
            "zeroing {} bytes on device {}", carve.bytes(), device_);
  hip_check(stream.wait(kZeroLimit), "zeroing {} bytes on device {}", carve.bytes(), device_);
}

ArenaStats Arena::stats() const {
  std::lock_guard lock(mutex_);
  ArenaStats stats{segments_.size(), 0, carved_, quarantined_};
  for (const Segment& segment : segments_) stats.bytes += segment.bytes;
  return stats;
}

}  // namespace weft
