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

DeviceState::Layout DeviceState::layout_of(int size, const BoxLayout& box) {
  const size_t peers = aligned(sizeof(DeviceComm));
  const size_t counters = peers + aligned(size_t(size) * sizeof(DevicePeer));
  const size_t words = counters + aligned(size_t(size) * box.channels * sizeof(FlowCounters));
  return {peers, counters, words, words + aligned(sizeof(DeviceWords))};
}

DeviceState::DeviceState(int rank, int size, const BoxLayout& box, const Links& links,
                         uint32_t counter_base, uint32_t wire_version)
    : device_(current_device()),
      layout_(layout_of(size, box)),
      memory_(layout_.end, sizeof(HostMemory)),
      host_(reinterpret_cast<HostMemory*>(memory_.on_host())),
      words_(reinterpret_cast<DeviceWords*>(memory_.on_device() + layout_.words)) {
  std::memset(static_cast<void*>(host_), 0, sizeof(HostMemory));
  std::vector<char> image(layout_.end);
  auto* comm = reinterpret_cast<DeviceComm*>(image.data());
  auto* peers = reinterpret_cast<DevicePeer*>(image.data() + layout_.peers);
  auto* flows = reinterpret_cast<FlowCounters*>(image.data() + layout_.counters);
  for (int peer = 0; peer < size; ++peer)
    peers[peer] = {static_cast<char*>(links.inbox(peer)), static_cast<char*>(links.outbox(peer))};
  for (size_t i = 0; i < size_t(size) * box.channels; ++i) flows[i] = {counter_base, counter_base};
  *comm = {rank,
           size,
           box,
           wire_version,
           reinterpret_cast<const DevicePeer*>(memory_.on_device() + layout_.peers),
           reinterpret_cast<FlowCounters*>(memory_.on_device() + layout_.counters),
           words_,
           &host_->words};
  copy_to_device(memory_.on_device(), image.data(), image.size());

  const std::vector<char> control = starting_control(box, counter_base);
  for (int peer = 0; peer < size; ++peer)
    if (links.inbox(peer) != nullptr)
      copy_to_device(links.inbox(peer), control.data(), control.size());
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
