#include "transport/shm.h"

#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "device_scope.h"
#include "hip_check.h"
#include "platform_memory.h"
#include "transport/exchange.h"

namespace weft {

void SharedMapping::swap(SharedMapping& other) noexcept {
  std::swap(host_, other.host_);
  std::swap(device_data_, other.device_data_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  std::swap(registered_, other.registered_);
}

SharedMapping SharedMapping::map(int fd, size_t offset, size_t bytes, std::string& error) {
  SharedMapping result;
  void* host =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (host == MAP_FAILED) {
    error = fmt::format("mmap of {} bytes of shared memory: {}", bytes, errno_text());
    return result;
  }
  result.host_ = host;
  result.bytes_ = bytes;
  result.device_ = current_device();
  hipError_t code = hipHostRegister(host, bytes, platform::kSharedRegisterFlags);
  result.registered_ = code == hipSuccess;
  void* device_data = nullptr;
  if (code == hipSuccess) code = hipHostGetDevicePointer(&device_data, host, 0);
  if (code == hipSuccess) {
    result.device_data_ = static_cast<char*>(device_data);
    return result;
  }
  (void)hipGetLastError();
  error = fmt::format("registering {} bytes of shared memory with device {}: {}", bytes,
                      result.device_, hip_text(code));
  return SharedMapping();
}

SharedMapping::~SharedMapping() {
  if (!host_) return;
  try {
    DeviceScope scope(device_);
    if (registered_) (void)hipHostUnregister(host_);
  } catch (const Error&) {
    // The runtime is going down; the mapping below still goes.
  }
  munmap(host_, bytes_);
}

// "" or why there is no file.
std::string ShmWay::make_file(size_t bytes) {
  file_ = Descriptor(memfd_create("weft", MFD_CLOEXEC));
  if (!file_) return fmt::format("memfd_create: {}", errno_text());
  const auto size = static_cast<off_t>(bytes);
  if (ftruncate(file_.get(), size) != 0 || fallocate(file_.get(), 0, 0, size) != 0)
    return fmt::format("reserving {} bytes of shared memory: {}", bytes, errno_text());
  std::string error;
  own_ = SharedMapping::map(file_.get(), 0, bytes, error);
  if (error.empty()) server_ = std::make_unique<DescriptorServer>(file_.get());
  return error;
}

void ShmWay::prepare(const std::vector<int>& peers, Refusals& refusals) {
  if (peers.empty()) return;
  Refusal refusal = {};
  if (context_.config.shm_disable) {
    refusal = {"NCCL_SHM_DISABLE is set", true};
  } else {
    refusal.text = make_file(peers.size() * context_.box_bytes);
  }
  for (const int peer : peers) {
    if (refusal.text.empty()) {
      inboxes_.emplace(peer, inboxes_.size() * context_.box_bytes);
    } else {
      refusals.emplace(peer, refusal);
    }
  }
}

std::string ShmWay::offer() const {
  Packer packer;
  packer.value(server_ ? server_->offer() : DescriptorOffer{});
  packer.value(static_cast<uint32_t>(inboxes_.size()));
  for (const auto& [peer, offset] : inboxes_) packer.value(peer).value(uint64_t{offset});
  return packer.bytes();
}

// Also within one process a mapping of its own: either end may then close without the other.
void* ShmWay::map(int peer, std::string_view offer, std::string& error) {
  Unpacker unpacker(offer);
  const auto descriptor = unpacker.value<DescriptorOffer>();
  uint64_t box = 0;
  const auto boxes = unpacker.value<uint32_t>();
  for (uint32_t i = 0; i < boxes; ++i) {
    const auto owner = unpacker.value<int>();
    const auto offset = unpacker.value<uint64_t>();
    if (owner == context_.rank) box = offset;
  }
  const Descriptor file = fetch_descriptor(descriptor, error);
  if (!file) return nullptr;
  SharedMapping mapping = SharedMapping::map(file.get(), box, context_.box_bytes, error);
  if (!error.empty()) return nullptr;
  return outboxes_.emplace(peer, std::move(mapping)).first->second.device_data();
}

void* ShmWay::inbox(int peer) const {
  const auto found = inboxes_.find(peer);
  return found == inboxes_.end() ? nullptr : own_.device_data() + found->second;
}

void* ShmWay::outbox(int peer) const {
  const auto found = outboxes_.find(peer);
  return found == outboxes_.end() ? nullptr : found->second.device_data();
}

void ShmWay::settle() noexcept {
  server_.reset();
  file_ = Descriptor();
}

// Confirmed or not: pages live until the last process unmaps them, so a peer that still writes
// harms nobody.
void ShmWay::close(bool) noexcept {
  settle();
  outboxes_.clear();
  inboxes_.clear();
  own_ = SharedMapping();
}

}  // namespace weft
