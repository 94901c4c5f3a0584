// The pool (state_memory.h).
#include "state_memory.h"

#include <hip/hip_runtime.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>
#include <vector>

#include "device_scope.h"

namespace weft {
namespace {

struct Pool {
  std::mutex mutex;
  std::vector<StateMemory::Block> unused;
};
// Never destroyed: communicators may be closed while the process ends.
Pool& pool() {
  static auto* pool = new Pool;
  return *pool;
}

bool take_unused(StateMemory::Block& wanted) {
  const std::lock_guard lock(pool().mutex);
  auto& unused = pool().unused;
  const auto fits = [&](const StateMemory::Block& block) {
    return block.device == wanted.device && block.device_bytes == wanted.device_bytes &&
           block.host_bytes == wanted.host_bytes;
  };
  const auto found = std::find_if(unused.begin(), unused.end(), fits);
  if (found == unused.end()) return false;
  wanted = *found;
  unused.erase(found);
  return true;
}

}  // namespace

// Sizes are powers of two, so that communicators of similar shape share.
StateMemory::StateMemory(size_t device_bytes, size_t host_bytes)
    : block_{nullptr, nullptr, std::bit_ceil(device_bytes), std::bit_ceil(host_bytes),
             current_device()} {
  if (take_unused(block_)) return;
  hip_check(hipMalloc(reinterpret_cast<void**>(&block_.on_device), block_.device_bytes),
            "allocating {} bytes for a communicator", block_.device_bytes);
  const hipError_t state =
      hipHostMalloc(reinterpret_cast<void**>(&block_.on_host), block_.host_bytes,
                    hipHostMallocMapped | hipHostMallocPortable);
  if (state != hipSuccess) (void)hipFree(block_.on_device);
  hip_check(state, "allocating {} bytes of host memory that kernels read", block_.host_bytes);
}

StateMemory::StateMemory(StateMemory&& other) noexcept : block_(std::exchange(other.block_, {})) {}

StateMemory::~StateMemory() {
  if (block_.on_device == nullptr) return;
  const std::lock_guard lock(pool().mutex);
  pool().unused.push_back(block_);
}

}  // namespace weft
