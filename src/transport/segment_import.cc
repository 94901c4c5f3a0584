#include "transport/segment_import.h"

#include <map>
#include <mutex>
#include <utility>

#include "device_scope.h"
#include "hip_check.h"
#include "log.h"

namespace weft {
namespace {

using Key = std::pair<SegmentKey, int>;  // importing device

struct Mapping {
  char* base;
  size_t users;
};

// Never destroyed: communicators may outlive static destructors.
struct Cache {
  std::mutex mutex;  // held while the runtime opens or closes, so that a close and a new open of
                     // one segment do not cross
  std::map<Key, Mapping> open;
};

Cache& cache() {
  static auto* instance = new Cache;
  return *instance;
}

}  // namespace

SegmentImport::SegmentImport(SegmentImport&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), key_(other.key_), device_(other.device_) {}

SegmentImport& SegmentImport::operator=(SegmentImport&& other) noexcept {
  if (this == &other) return *this;
  close();
  base_ = std::exchange(other.base_, nullptr);
  key_ = other.key_;
  device_ = other.device_;
  return *this;
}

SegmentImport SegmentImport::open(const SegmentKey& what, const hipIpcMemHandle_t& handle,
                                  std::string& error) {
  SegmentImport result;
  result.key_ = what;
  result.device_ = current_device();
  const Key key{what, result.device_};
  std::lock_guard lock(cache().mutex);
  auto found = cache().open.find(key);
  if (found == cache().open.end()) {
    void* base = nullptr;
    const hipError_t code = hipIpcOpenMemHandle(&base, handle, hipIpcMemLazyEnablePeerAccess);
    if (code != hipSuccess) {
      (void)hipGetLastError();
      error = fmt::format("hipIpcOpenMemHandle on device {}: {}", result.device_, hip_text(code));
      return result;
    }
    found = cache().open.emplace(key, Mapping{static_cast<char*>(base), 0}).first;
  }
  ++found->second.users;
  result.base_ = found->second.base;
  return result;
}

void SegmentImport::close() noexcept {
  if (!base_) return;
  base_ = nullptr;
  std::lock_guard lock(cache().mutex);
  const auto found = cache().open.find({key_, device_});
  if (--found->second.users > 0) return;
  try {
    DeviceScope scope(device_);
    hip_check(hipIpcCloseMemHandle(found->second.base),
              "closing a segment of another process on device {}", device_);
  } catch (const std::exception& error) {
    log_warn("{}", error.what());
  }
  cache().open.erase(found);
}

size_t open_segment_imports() {
  std::lock_guard lock(cache().mutex);
  return cache().open.size();
}

}  // namespace weft
