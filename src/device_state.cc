// Device memory of a communicator (device_state.h).
#include "device_state.h"

#include <cstring>
#include <vector>

#include "device_scope.h"
#include "hip_check.h"
#include "side_stream.h"

namespace weft {
namespace {

size_t whole_lines(size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

// What polls before the first operation must see: no slice sent, none taken.
std::vector<char> starting_control(const BoxLayout& box, const Fifo& fifo, uint32_t counter_base) {
  const uint64_t word = uint64_t(counter_base) << 32;
  std::vector<char> control(box.channels * Fifo::kControlBytes);
  Fifo here = fifo;
  here.offset = 0;
  for (uint32_t channel = 0; channel < box.channels; ++channel) {
    for (uint32_t slot = 0; slot < fifo.slots; ++slot)
      here.ready(control.data(), channel)[slot] = word;
    *here.credit(control.data(), channel) = word;
  }
  return control;
}

// Flags of lines as of the slice before the first (device/ll.h, ll128.h): no value is neutral.
void fill_lines(const BoxLayout& box, Region region, void* inbox, uint32_t counter_base) {
  const Fifo& fifo = box.of(region);
  const size_t bytes = size_t(box.channels) * fifo.slots * fifo.slot_bytes;
  const std::vector<uint32_t> lines(bytes / sizeof(uint32_t),
                                    has_ll_lines(region) ? counter_base << 16 : counter_base);
  copy_to_device(fifo.slot(inbox, box.channels, 0, 0), lines.data(), bytes);
}

void start_inbox(const BoxLayout& box, void* inbox, uint32_t counter_base) {
  for (int r = 0; r < kRegionCount; ++r) {
    const Fifo& fifo = box.fifo[r];
    const std::vector<char> control = starting_control(box, fifo, counter_base);
    copy_to_device(fifo.ready(inbox, 0), control.data(), control.size());
    if (has_lines(Region(r))) fill_lines(box, Region(r), inbox, counter_base);
  }
}

}  // namespace

DeviceState::Layout DeviceState::layout_of(int size, const BoxLayout& box) {
  const size_t counters = whole_lines(size_t(size) * sizeof(DevicePeer));
  const size_t flows = size_t(kRegionCount) * size * box.channels;
  const size_t words = counters + whole_lines(flows * sizeof(FlowCounters));
  return {counters, words, words + whole_lines(sizeof(DeviceWords))};
}

DeviceState::DeviceState(int rank, const std::vector<DevicePeer>& peers, const BoxLayout& box,
                         uint32_t counter_base, uint32_t wire_version)
    : steps(rank, int(peers.size())),
      device_(current_device()),
      peers_(peers),
      layout_(layout_of(int(peers.size()), box)),
      memory_(layout_.end, sizeof(HostMemory)),
      host_(reinterpret_cast<HostMemory*>(memory_.on_host())),
      words_(reinterpret_cast<DeviceWords*>(memory_.on_device() + layout_.words)) {
  std::memset(static_cast<void*>(host_), 0, sizeof(HostMemory));
  std::vector<char> image(layout_.end);
  std::memcpy(image.data(), peers.data(), peers.size() * sizeof(DevicePeer));
  auto* flows = reinterpret_cast<FlowCounters*>(image.data() + layout_.counters);
  for (size_t i = 0; i < kRegionCount * peers.size() * box.channels; ++i)
    flows[i] = {counter_base, counter_base};
  copy_to_device(memory_.on_device(), image.data(), image.size());
  comm_ = {rank,
           int(peers.size()),
           box,
           wire_version,
           reinterpret_cast<const DevicePeer*>(memory_.on_device()),
           reinterpret_cast<FlowCounters*>(memory_.on_device() + layout_.counters),
           words_,
           &host_->words};
  for (const DevicePeer& peer : peers)
    if (peer.inbox != nullptr) start_inbox(box, peer.inbox, counter_base);
}

void DeviceState::abort() noexcept { __atomic_store_n(&host_->words.abort, 1u, __ATOMIC_RELEASE); }

Fault DeviceState::fault() const noexcept {
  Fault fault{};
  if (__atomic_load_n(&host_->words.fault.kind, __ATOMIC_ACQUIRE) != Fault::kNone)
    fault = host_->words.fault;
  return fault;
}

bool DeviceState::refuse_kernels(std::chrono::milliseconds limit) noexcept try {
  const DeviceScope scope(device_);
  SideStream stream;
  // Whatever it was, it was told.
  __atomic_store_n(&host_->words.fault.kind, uint32_t(Fault::kNone), __ATOMIC_RELEASE);
  host_->mirror.fault_reports = kClosed;
  hipError_t state = hipMemcpyAsync(&words_->fault_reports, &host_->mirror.fault_reports,
                                    sizeof(uint32_t), hipMemcpyHostToDevice, stream.get());
  if (state == hipSuccess) state = stream.wait(limit);
  return state == hipSuccess;
} catch (const std::exception&) {
  return false;
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
