// Mapping buffers between processes (peer_access.h).
#include "peer_access.h"

#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "device_scope.h"
#include "hip_check.h"
#include "log.h"
#include "side_stream.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint32_t kTag = 0x6d617073;
constexpr uint32_t kMostEntries =
    1024;  // allocations in use at a time; the first one has no shifts
constexpr size_t kMostKnown = 4096;
// How often the thread listens, and how often for so long after it heard or had something to say;
// how often it looks for allocations that were freed.
constexpr milliseconds kPoll{20}, kQuickPoll{1}, kQuick{500}, kLook{1000};

std::vector<uint64_t> other_processes(const Links& links, const std::vector<RankInfo>& ranks) {
  std::vector<uint64_t> processes;
  for (const RankInfo& rank : ranks)
    processes.push_back(links.kind(rank.rank) == LinkKind::kIpc ? rank.process_hash : 0);
  return processes;
}

void set_reached(Reach* reach, bool reached) {
  const uint64_t word = reached ? 1 : 0;
  copy_to_device(&reach->reached, &word, sizeof word);
}

}  // namespace

// Plain bytes; `id` is the number of the allocation in the process that owns it.
struct PeerAccess::Message {
  enum Kind : uint32_t { kOffer, kAnswer, kDrop };
  Kind kind;
  uint64_t id;
  uint64_t base;  // of an answer: where the peer has mapped it, 0: it cannot
  hipIpcMemHandle_t handle;
};

PeerAccess::PeerAccess(Bootstrap& bootstrap, const Links& links, const std::vector<RankInfo>& ranks)
    : bootstrap_(bootstrap),
      rank_(bootstrap.rank()),
      device_(current_device()),
      peers_(other_processes(links, ranks)),
      most_entries_(alone() ? 1 : kMostEntries),
      entries_(most_entries_ * entry_bytes(), 0) {
  const std::vector<char> zeros(most_entries_ * entry_bytes());
  copy_to_device(entry(0), zeros.data(), zeros.size());
  set_reached(entry(0), true);
  if (!alone()) thread_ = std::thread([this] { run(); });
}

bool PeerAccess::alone() const { return std::ranges::count(peers_, 0u) == std::ssize(peers_); }

PeerAccess::~PeerAccess() { stop(); }

void PeerAccess::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

const Reach* PeerAccess::reach(const void* begin, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const Binding* binding = binding_of(begin, bytes);
  return binding == nullptr ? nullptr : entry(binding->entry);
}

void* PeerAccess::address_for(int peer, const void* begin, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const Binding* binding = binding_of(begin, bytes);
  if (binding == nullptr || binding->state != State::kReached) return nullptr;
  const int64_t shift = binding->shift.empty() ? 0 : binding->shift[size_t(peer)];
  return reinterpret_cast<void*>(reinterpret_cast<intptr_t>(begin) + shift);
}

const PeerAccess::Binding* PeerAccess::binding_of(const void* begin, size_t bytes) {
  const uint64_t id = buffer_id(begin);
  if (id == 0) return nullptr;
  if (alone() && bindings_.size() >= kMostKnown) bindings_.clear();  // nothing hangs on them
  auto found = bindings_.find(id);
  if (found == bindings_.end()) found = bindings_.emplace(id, first_sight(id, begin)).first;
  const Binding& binding = found->second;
  const bool usable = binding.state != State::kRefused && binding.allocation.holds(begin, bytes);
  return usable ? &binding : nullptr;
}

PeerAccess::Binding PeerAccess::first_sight(uint64_t id, const void* begin) {
  const Allocation allocation = allocation_of(begin);
  if (!allocation.plain || allocation.device != device_)
    return {begin, allocation, State::kRefused, 0, {}};
  if (alone()) return {begin, allocation, State::kReached, 0, {}};
  uint32_t index = entries_used_;
  if (!free_entries_.empty()) {
    index = free_entries_.back();
    free_entries_.pop_back();
  } else if (entries_used_++ >= most_entries_) {
    entries_used_ = most_entries_;
    return {begin, allocation, State::kRefused, 0, {}};
  }
  to_offer_.push_back(id);
  return {begin, allocation, State::kOffered, index, {}};
}

// Peers give back what they mapped of memory that is no more. The runtime is asked without the lock
// that calls need.
void PeerAccess::forget_freed() {
  std::vector<std::pair<uint64_t, const void*>> known;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, binding] : bindings_) known.emplace_back(id, binding.seen_at);
  }
  std::erase_if(known, [](const auto& each) { return buffer_id(each.second) == each.first; });
  const std::lock_guard lock(mutex_);
  for (const auto& [id, address] : known) {
    const auto freed = bindings_.find(id);
    if (freed->second.entry != 0) to_drop_.emplace_back(id, freed->second.entry);
    bindings_.erase(freed);
  }
}

void PeerAccess::run() noexcept try {
  const DeviceScope scope(device_);
  auto quick_until = Clock::now(), next_look = quick_until;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    if (Clock::now() >= next_look) {
      forget_freed();
      next_look = Clock::now() + kLook;
    }
    if (exchange()) quick_until = Clock::now() + kQuick;
    lock.lock();
    changed_.wait_for(lock, Clock::now() < quick_until ? kQuickPoll : kPoll,
                      [&] { return stop_ || !to_offer_.empty(); });
  }
} catch (const std::exception& error) {  // a rank is gone, or the device
  log_info(Subsystem::kP2p, "rank {}: no more buffers are mapped: {}", rank_, error.what());
}

// One round of what is to be said and heard; whether there was anything.
bool PeerAccess::exchange() {
  std::vector<std::pair<uint64_t, Allocation>> offers;
  std::vector<std::pair<uint64_t, uint32_t>> drops;
  {
    const std::lock_guard lock(mutex_);
    for (const uint64_t id : to_offer_)
      if (const auto found = bindings_.find(id); found != bindings_.end())
        offers.emplace_back(id, found->second.allocation);
    to_offer_.clear();
    drops.swap(to_drop_);
  }
  for (const auto& [id, index] : drops) drop(id, index);
  for (const auto& [id, allocation] : offers) offer(id, allocation);
  bool heard = false;
  for (int peer = 0; peer < int(peers_.size()); ++peer) {
    std::vector<std::byte> bytes;
    while (peers_[size_t(peer)] != 0 && bootstrap_.try_receive(peer, kTag, bytes)) {
      Message message{};
      if (bytes.size() == sizeof message) std::memcpy(&message, bytes.data(), sizeof message);
      hear(peer, message);
      heard = true;
    }
  }
  return heard || !offers.empty();
}

void PeerAccess::tell(int peer, const Message& message) {
  bootstrap_.send(peer, kTag, std::as_bytes(std::span(&message, 1)));
}
void PeerAccess::tell_all(const Message& message) {
  for (int peer = 0; peer < int(peers_.size()); ++peer)
    if (peers_[size_t(peer)] != 0) tell(peer, message);
}

void PeerAccess::offer(uint64_t id, const Allocation& allocation) {
  Message message{Message::kOffer, id, uint64_t(allocation.base), {}};
  const hipError_t code = hipIpcGetMemHandle(&message.handle, allocation.base);
  if (code != hipSuccess) {
    (void)hipGetLastError();
    return refuse(id, hip_text(code));
  }
  offers_[id].shift.resize(peers_.size());
  tell_all(message);
}

void PeerAccess::hear(int peer, const Message& message) {
  switch (message.kind) {
    case Message::kOffer:
      return answer(peer, message);
    case Message::kAnswer:
      return take_answer(peer, message);
    case Message::kDrop:
      imports_.erase({peer, message.id});
  }
}

void PeerAccess::answer(int peer, const Message& message) {
  std::string error;
  SegmentImport import = SegmentImport::open(
      {peers_[size_t(peer)], SegmentKey::kBuffer, message.id}, message.handle, error);
  if (!error.empty())
    log_info(Subsystem::kP2p, "rank {}: a buffer of rank {} cannot be mapped: {}", rank_, peer,
             error);
  tell(peer, {Message::kAnswer, message.id, uint64_t(import.base()), {}});
  if (import.base() != nullptr) imports_[{peer, message.id}] = std::move(import);
}

void PeerAccess::take_answer(int peer, const Message& message) {
  const auto found = offers_.find(message.id);
  if (found == offers_.end()) return;
  Offer& offer = found->second;
  offer.refused |= message.base == 0;
  offer.shift[size_t(peer)] = int64_t(message.base);  // an address as yet
  if (++offer.answers < std::ssize(peers_) - std::ranges::count(peers_, 0u)) return;
  conclude(message.id, offer);
  offers_.erase(found);
}

// All peers have answered.
void PeerAccess::conclude(uint64_t id, Offer& offer) {
  if (offer.refused) return refuse(id, "a peer cannot map it");
  Reach* reach = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = bindings_.find(id);
    if (found != bindings_.end()) {
      reach = entry(found->second.entry);
      for (size_t peer = 0; peer < peers_.size(); ++peer)
        if (peers_[peer] != 0) offer.shift[peer] -= int64_t(found->second.allocation.base);
    }
  }
  if (reach == nullptr) return refuse(id, "it was freed");
  copy_to_device(reach->shift, offer.shift.data(), offer.shift.size() * sizeof(int64_t));
  set_reached(reach, true);
  const std::lock_guard lock(mutex_);
  const auto found = bindings_.find(id);
  if (found == bindings_.end()) return;  // freed meanwhile: it is among those to drop
  found->second.shift = std::move(offer.shift);
  found->second.state = State::kReached;
}

void PeerAccess::drop(uint64_t id, uint32_t index) {
  set_reached(entry(index), false);
  tell_all({Message::kDrop, id, 0, {}});
  const std::lock_guard lock(mutex_);
  free_entries_.push_back(index);
}

void PeerAccess::refuse(uint64_t id, const std::string& why) {
  log_info(Subsystem::kP2p, "rank {}: no zero-copy with buffer {}: {}", rank_, id, why);
  tell_all({Message::kDrop, id, 0, {}});
  const std::lock_guard lock(mutex_);
  if (const auto found = bindings_.find(id); found != bindings_.end())
    found->second.state = State::kRefused;
}

}  // namespace weft
