// Device memory of a communicator (device_state.h).
#include "device_state.h"

#include <cstring>
#include <vector>

#include "device_scope.h"
#include "hip_check.h"
#include "side_stream.h"

namespace weft {
namespace {

constexpr std::chrono::seconds kCopyLimit{20};

size_t aligned(size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

// Copies on a stream of our own and waits for it, so that no stream of the user is touched.
void copy_to_device(void* to, const void* from, size_t bytes) {
  SideStream stream;
  hip_check(hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream.get()),
            "copying {} bytes to the device", bytes);
  hip_check(stream.wait(kCopyLimit), "waiting for a copy of {} bytes to the device", bytes);
}

// What polls before the first operation must see: no slice sent, none taken.
std::vector<char> starting_control(const BoxLayout& box, uint32_t counter_base) {
  std::vector<char> control(kLineBytes + size_t(box.channels) * BoxLayout::kControlBytes);
  const uint64_t word = uint64_t(counter_base) << 32;
  for (uint32_t channel = 0; channel < box.channels; ++channel) {
    for (uint32_t slot = 0; slot < box.slots; ++slot)
      box.ready(control.data(), channel)[slot] = word;
    *box.credit(control.data(), channel) = word;
  }
  return control;
}

}  // namespace

DeviceState::DeviceState(int rank, int size, const BoxLayout& box, const Links& links,
                         uint32_t counter_base, uint32_t wire_version)
    : device_(current_device()) {
  try {
    fill(rank, size, box, links, counter_base, wire_version);
  } catch (...) {
    free();  // the destructor does not run
    throw;
  }
}

void DeviceState::fill(int rank, int size, const BoxLayout& box, const Links& links,
                       uint32_t counter_base, uint32_t wire_version) {
  const size_t peers_at = aligned(sizeof(DeviceComm)),
               peers_bytes = size_t(size) * sizeof(DevicePeer);
  const size_t counters_at = peers_at + aligned(peers_bytes),
               counters = size_t(size) * box.channels;
  const size_t words_at = counters_at + aligned(counters * sizeof(FlowCounters));
  const size_t bytes = words_at + aligned(sizeof(DeviceWords));

  hip_check(hipMalloc(reinterpret_cast<void**>(&device_memory_), bytes),
            "allocating {} bytes for a communicator", bytes);
  hip_check(hipHostMalloc(reinterpret_cast<void**>(&host_), sizeof(HostMemory),
                          hipHostMallocMapped | hipHostMallocPortable),
            "allocating host memory that kernels read");
  std::memset(static_cast<void*>(host_), 0, sizeof(HostMemory));

  std::vector<char> image(bytes);
  auto* comm = reinterpret_cast<DeviceComm*>(image.data());
  auto* peers = reinterpret_cast<DevicePeer*>(image.data() + peers_at);
  auto* flows = reinterpret_cast<FlowCounters*>(image.data() + counters_at);
  words_ = reinterpret_cast<DeviceWords*>(device_memory_ + words_at);
  for (int peer = 0; peer < size; ++peer)
    peers[peer] = {static_cast<char*>(links.inbox(peer)), static_cast<char*>(links.outbox(peer))};
  for (size_t i = 0; i < counters; ++i) flows[i] = {counter_base, counter_base};
  *comm = {rank,
           size,
           box,
           wire_version,
           reinterpret_cast<const DevicePeer*>(device_memory_ + peers_at),
           reinterpret_cast<FlowCounters*>(device_memory_ + counters_at),
           words_,
           &host_->words};
  copy_to_device(device_memory_, image.data(), bytes);

  const std::vector<char> control = starting_control(box, counter_base);
  for (int peer = 0; peer < size; ++peer)
    if (links.inbox(peer) != nullptr)
      copy_to_device(links.inbox(peer), control.data(), control.size());
}

DeviceState::~DeviceState() { free(); }

// Often on a thread of our own, which has no current device.
void DeviceState::free() noexcept try {
  const DeviceScope scope(device_);
  (void)hipFree(device_memory_);
  (void)hipHostFree(host_);
} catch (const std::exception&) {  // the device is lost, and its memory with it
}

void DeviceState::abort() noexcept { __atomic_store_n(&host_->words.abort, 1u, __ATOMIC_RELEASE); }

Fault DeviceState::fault() const noexcept {
  Fault fault{};
  if (__atomic_load_n(&host_->words.fault.kind, __ATOMIC_ACQUIRE) != Fault::kNone)
    fault = host_->words.fault;
  return fault;
}

DeviceState::Reading DeviceState::read_words(std::chrono::milliseconds limit) const noexcept try {
  const DeviceScope scope(device_);
  SideStream stream;
  hipError_t state = hipMemcpyAsync(&host_->mirror, words_, sizeof(DeviceWords),
                                    hipMemcpyDeviceToHost, stream.get());
  if (state == hipSuccess) state = stream.wait(limit);
  return {state == hipSuccess ? &host_->mirror : nullptr,
          state != hipSuccess && state != hipErrorNotReady};
} catch (const std::exception&) {
  return {nullptr, true};
}

}  // namespace weft
