// Tables of announced memory (registration.h).
#include "registration.h"

#include <atomic>
#include <utility>

#include "error.h"
#include "pointer_info.h"

namespace weft {
namespace {

// Never null, never an address that anything lies at: the low bit is set.
template <class Handle>
Handle next_handle() {
  static std::atomic<uintptr_t> made{0};
  return reinterpret_cast<Handle>(2 * made.fetch_add(1, std::memory_order_relaxed) + 1);
}

}  // namespace

void* Registrations::add(const Registration& registration) {
  const std::lock_guard lock(mutex_);
  void* handle = next_handle<void*>();
  all_.emplace(handle, registration);
  return handle;
}

bool Registrations::remove(const void* handle) {
  const std::lock_guard lock(mutex_);
  return all_.erase(handle) != 0;
}

std::optional<Registration> Registrations::find(uintptr_t begin, size_t bytes) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, one] : all_)
    if (begin >= one.begin && bytes <= one.bytes && begin - one.begin <= one.bytes - bytes)
      return one;
  return std::nullopt;
}

Registration make_registration(const char* function, const void* buffer, size_t bytes) {
  const MemoryKind kind = pointer_info(buffer).kind;
  if (kind == MemoryKind::kHost || kind == MemoryKind::kUnknown)
    fail(ncclInvalidArgument, "{}: buff {} is {}, only device memory can be registered", function,
         buffer, kind == MemoryKind::kHost ? "host memory" : "no memory that the runtime knows");
  const auto begin = reinterpret_cast<uintptr_t>(buffer);
  if (bytes > UINTPTR_MAX - begin)
    fail(ncclInvalidArgument, "{}: size is {}, more than memory can be", function, bytes);
  return {begin, bytes};
}

ncclWindow_t Windows::add(Window window) {
  auto kept = std::make_shared<const Window>(std::move(window));
  const std::lock_guard lock(mutex_);
  const auto handle = next_handle<ncclWindow_t>();
  all_.emplace(handle, std::move(kept));
  return handle;
}

bool Windows::remove(ncclWindow_t handle) {
  const std::lock_guard lock(mutex_);
  return all_.erase(handle) != 0;
}

std::shared_ptr<const Window> Windows::find(ncclWindow_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto at = all_.find(handle);
  return at == all_.end() ? nullptr : at->second;
}

}  // namespace weft
