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
constexpr uint32_t kTables = 1024;  // allocations in use at a time; the first table holds zeros
constexpr std::chrono::seconds kCopyLimit{20};
// The thread listens so long after the last operation that might gain, at this interval.
constexpr milliseconds kListen{2000}, kPoll{1};

std::vector<uint64_t> other_processes(const Links& links, const std::vector<RankInfo>& ranks) {
  std::vector<uint64_t> processes;
  for (const RankInfo& rank : ranks)
    processes.push_back(links.kind(rank.rank) == LinkKind::kIpc ? rank.process_hash : 0);
  return processes;
}

void copy_to_device(const void* to, const std::vector<int64_t>& from) {
  SideStream stream;
  const size_t bytes = from.size() * sizeof(int64_t);
  hip_check(hipMemcpyAsync(const_cast<void*>(to), from.data(), bytes, hipMemcpyHostToDevice,
                           stream.get()),
            "copying {} bytes to the device", bytes);
  hip_check(stream.wait(kCopyLimit), "waiting for a copy of {} bytes to the device", bytes);
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
      tables_(kTables * ranks.size() * sizeof(int64_t), 0) {
  copy_to_device(zeros(), std::vector<int64_t>(ranks.size()));
}

PeerAccess::~PeerAccess() { stop(); }

void PeerAccess::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

const int64_t* PeerAccess::shifts(const void* begin, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const Binding* binding = reached(begin, bytes);
  return binding == nullptr ? nullptr : table(binding->table);
}

void* PeerAccess::address_for(int peer, const void* begin, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const Binding* binding = reached(begin, bytes);
  if (binding == nullptr) return nullptr;
  const int64_t shift = binding->shift.empty() ? 0 : binding->shift[size_t(peer)];
  return reinterpret_cast<void*>(reinterpret_cast<intptr_t>(begin) + shift);
}

const PeerAccess::Binding* PeerAccess::reached(const void* begin, size_t bytes) {
  const uint64_t id = buffer_id(begin);
  if (id == 0) return nullptr;
  auto found = bindings_.find(id);
  if (found == bindings_.end()) found = bindings_.emplace(id, first_sight(id, begin)).first;
  const Binding& binding = found->second;
  wake();
  const bool holds = binding.allocation.holds(begin, bytes);
  return binding.state == State::kReached && holds ? &binding : nullptr;
}

PeerAccess::Binding PeerAccess::first_sight(uint64_t id, const void* begin) {
  const Allocation allocation = allocation_of(begin);
  forget_freed();
  if (!allocation.plain || allocation.device != device_)
    return {allocation, State::kRefused, 0, {}};
  if (std::ranges::count(peers_, 0u) == std::ssize(peers_))
    return {allocation, State::kReached, 0, {}};
  to_offer_.push_back(id);
  return {allocation, State::kOffered, 0, {}};
}

// Peers give back what they mapped of memory that is no more.
void PeerAccess::forget_freed() {
  std::erase_if(bindings_, [&](const auto& each) {
    const auto& [id, binding] = each;
    if (buffer_id(binding.allocation.base) == id) return false;
    if (binding.table != 0) {
      free_tables_.push_back(binding.table);
      to_drop_.push_back(id);
    }
    return true;
  });
}

// The thread listens again.
void PeerAccess::wake() {
  if (awake_ || stop_ || std::ranges::count(peers_, 0u) == std::ssize(peers_)) return;
  awake_ = true;
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  } catch (const std::exception& error) {
    log_warn("no thread to map buffers of other processes: {}", error.what());
    stop_ = true;
  }
  changed_.notify_all();
}

void PeerAccess::run() {
  hipStreamCaptureMode relaxed = hipStreamCaptureModeRelaxed;
  (void)hipThreadExchangeStreamCaptureMode(&relaxed);
  const DeviceScope scope(device_);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_.wait(lock, [&] { return awake_ || stop_; });
    auto until = Clock::now() + kListen;
    while (!stop_ && Clock::now() < until) {
      lock.unlock();
      bool busy = false;
      try {
        busy = exchange();
      } catch (const std::exception& error) {  // a rank is gone, or the device
        log_info(Subsystem::kP2p, "rank {}: no more zero-copy: {}", rank_, error.what());
        lock.lock();
        stop_ = true;
        return;
      }
      lock.lock();
      if (busy) until = Clock::now() + kListen;
      changed_.wait_for(lock, kPoll, [&] { return stop_ || !to_offer_.empty(); });
    }
    awake_ = false;
  }
}

// One round of what is to be said and heard; whether there was anything.
bool PeerAccess::exchange() {
  std::vector<std::pair<uint64_t, Allocation>> offers;
  std::vector<uint64_t> drops;
  {
    const std::lock_guard lock(mutex_);
    for (const uint64_t id : to_offer_)
      if (const auto found = bindings_.find(id); found != bindings_.end())
        offers.emplace_back(id, found->second.allocation);
    to_offer_.clear();
    drops.swap(to_drop_);
  }
  for (const auto& [id, allocation] : offers) offer(id, allocation);
  for (const uint64_t id : drops) tell_all({Message::kDrop, id, 0, {}});
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
  return heard || !offers.empty() || !offers_.empty();
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
  uint32_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = bindings_.find(id);
    if (found != bindings_.end() && (!free_tables_.empty() || tables_used_ < kTables)) {
      index = tables_used_;
      if (free_tables_.empty()) {
        ++tables_used_;
      } else {
        index = free_tables_.back();
        free_tables_.pop_back();
      }
      for (size_t peer = 0; peer < peers_.size(); ++peer)
        if (peers_[peer] != 0) offer.shift[peer] -= int64_t(found->second.allocation.base);
    }
  }
  if (index == 0) return refuse(id, "it was freed, or too many are mapped");
  copy_to_device(table(index), offer.shift);
  const std::lock_guard lock(mutex_);
  const auto found = bindings_.find(id);
  if (found == bindings_.end()) {  // freed in between
    free_tables_.push_back(index);
    to_drop_.push_back(id);
    return;
  }
  found->second.table = index;
  found->second.shift = std::move(offer.shift);
  found->second.state = State::kReached;
}

void PeerAccess::refuse(uint64_t id, const std::string& why) {
  log_info(Subsystem::kP2p, "rank {}: no zero-copy with buffer {}: {}", rank_, id, why);
  tell_all({Message::kDrop, id, 0, {}});
  const std::lock_guard lock(mutex_);
  if (const auto found = bindings_.find(id); found != bindings_.end())
    found->second.state = State::kRefused;
}

}  // namespace weft
