// Buffers of the program that every peer reaches (zero-copy, device/simple.h). Owns: which
// allocations of this rank peers have mapped, at which addresses, and what this rank has mapped of
// theirs. Does not own: the vote, which is in the cards of each operation.
//
// In one process addresses are the same. To other processes an allocation is offered when a large
// operation first uses it: a thread of our own exports it, peers' threads map it, and once all have
// answered later operations go without copies. Nothing of this is waited for. Peers keep what they
// mapped until the thread finds that it was freed, about a second later, or the communicator ends.
// An allocation is known by the number that the runtime gives it, so memory that was freed is never
// taken for what lies there now.
//
// A buffer that a graph was captured with must stay allocated as long as the graph is used.
//
// Thread rule: any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bootstrap/bootstrap.h"
#include "device/work.h"
#include "pointer_info.h"
#include "state_memory.h"
#include "transport/links.h"
#include "transport/segment_import.h"

namespace weft {

class PeerAccess {
 public:
  // On the current device; references are to outlive this. Starts a thread where peers are in other
  // processes. Throws Error.
  PeerAccess(Bootstrap& bootstrap, const Links& links, const std::vector<RankInfo>& ranks);
  ~PeerAccess();
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;

  // How peers reach [begin, begin + bytes), now or by and by; an address of the device. Null:
  // never.
  const Reach* reach(const void* begin, size_t bytes);
  // Where that peer reaches [begin, begin + bytes); null: not, or not yet.
  void* address_for(int peer, const void* begin, size_t bytes);
  // For a buffer that no peer needs.
  const Reach* not_needed() const { return entry(0); }

  // No more exports and imports: the bootstrap may go.
  void stop() noexcept;

 private:
  enum class State { kOffered, kReached, kRefused };
  struct Binding {
    const void* seen_at;
    Allocation allocation;
    State state = State::kRefused;
    uint32_t entry = 0;          // of what is not refused; 0: no shifts
    std::vector<int64_t> shift;  // of kReached, by rank; empty: no shifts
  };
  struct Offer {  // that peers have not all answered yet
    std::vector<int64_t> shift;
    int answers = 0;
    bool refused = false;
  };
  struct Message;

  size_t entry_bytes() const { return sizeof(uint64_t) + peers_.size() * sizeof(int64_t); }
  Reach* entry(uint32_t index) const {
    return reinterpret_cast<Reach*>(entries_.on_device() + index * entry_bytes());
  }
  const Binding* binding_of(const void* begin, size_t bytes);
  Binding first_sight(uint64_t id, const void* begin);
  bool alone() const;  // all peers are of this process

  // Of the thread.
  void run() noexcept;
  bool exchange();
  void forget_freed();
  void tell(int peer, const Message& message);
  void tell_all(const Message& message);
  void hear(int peer, const Message& message);
  void offer(uint64_t id, const Allocation& allocation);
  void answer(int peer, const Message& message);
  void take_answer(int peer, const Message& message);
  void conclude(uint64_t id, Offer& offer);
  void refuse(uint64_t id, const std::string& why);
  void drop(uint64_t id, uint32_t entry);

  Bootstrap& bootstrap_;
  const int rank_, device_;
  const std::vector<uint64_t> peers_;  // by rank: its process; 0: this one
  const uint32_t most_entries_;
  const StateMemory entries_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<uint64_t, Binding> bindings_;
  std::vector<uint64_t> to_offer_;
  std::vector<std::pair<uint64_t, uint32_t>> to_drop_;  // with their entries
  uint32_t entries_used_ = 1;
  std::vector<uint32_t> free_entries_;
  bool stop_ = false;
  std::thread thread_;

  // Of the thread alone.
  std::map<uint64_t, Offer> offers_;
  std::map<std::pair<int, uint64_t>, SegmentImport> imports_;  // by peer and its number
};

}  // namespace weft
