// One rank of a communicator: what init.cc made, what launches and queries read, and its state.
// Owns: the resources of the rank, its life (initialising, ready, failed, closed), its asynchronous
// error, the order of its kernels. Does not own: how it comes to be (init.cc) and goes away
// (close.cc), what a call does (group.cc).
//
// Thread rule: abort() and queries from any thread at any time; operations from one thread at a
// time or guarded by launch_mutex.
#pragma once

#include <rccl/rccl.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/select.h"
#include "bootstrap/bootstrap.h"
#include "comm_options.h"
#include "config.h"
#include "device_state.h"
#include "geometry.h"
#include "graph_order.h"
#include "launch_shape.h"
#include "peer_access.h"
#include "registration.h"
#include "request.h"
#include "transport/links.h"

namespace weft {

class Planner;

enum class CommState : int { kInitializing, kReady, kFailed, kFinalized, kAborted, kClosed };

// Which kernel comes after which (design, section 5): on the stream of the last one, stream order;
// on another, a ticket. Streams are told apart by their numbers: a handle may be that of a stream
// that is gone, used again, or mean another stream in every thread. A runtime that has no numbers
// makes every kernel take a ticket.
class KernelOrder {
 public:
  using StreamId = std::optional<unsigned long long>;  // platform::stream_id
  struct Place {
    bool has_ticket;
    uint32_t ticket;
  };
  Place place_on(StreamId stream) const;
  // A kernel of `blocks` blocks was launched there.
  void note_launch(StreamId stream, uint32_t blocks);
  uint32_t blocks_launched() const { return blocks_; }

 private:
  bool any_ = false;
  StreamId last_;
  uint32_t blocks_ = 0;
};

class Communicator {
 public:
  // Throws Error(ncclInvalidUsage) for rules that cannot be followed.
  Communicator(int rank, int size, int device, std::shared_ptr<const Config> config,
               CommOptions options);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int device() const { return device_; }
  const Config& config() const { return *config_; }
  std::shared_ptr<const Config> config_shared() const { return config_; }
  const CommOptions& options() const { return options_; }
  const Rules& rules() const { return rules_; }
  bool blocking() const { return options_.blocking; }

  CommState state() const { return state_.load(std::memory_order_acquire); }
  void set_state(CommState state) { state_.store(state, std::memory_order_release); }
  // True once abort() was called: every wait of the host ends.
  const std::atomic<bool>& interrupted() const { return interrupted_; }

  // Throws what stands in the way of an operation: not ready, failed, aborted.
  void require_ready(const char* function) const;

  // An operation of this rank cannot go on, so that ranks no longer agree: kernels leave, others
  // are told.
  void give_up(ncclResult_t code, const std::string& reason) noexcept;

  // Ranks whose connection ended without a goodbye.
  std::set<int> gone_ranks() const;

  // ncclCommGetAsyncError: looks at the words of kernels and at what other ranks said. Never waits.
  ncclResult_t async_error();
  // Keeps the first error; later ones are logged by whoever has them. One that a kernel of this
  // rank and one that another rank found are both told: together they show who waits for whom.
  void set_async_error(ncclResult_t code, std::string text);
  std::string error_text() const;

  // Kernels and waits of this rank leave; other ranks are told. Any thread; does not wait.
  void abort(const std::string& reason) noexcept;

  // A request that was launched, for reports about sequence numbers.
  void remember(const Request& request);

  // Set by init.cc, constant afterwards, taken away by close.cc.
  std::vector<RankInfo> ranks;
  Geometry geometry;
  platform::CostTable costs = platform::kCosts;
  std::unique_ptr<const Selector> selector;  // null with one rank
  bool fnuz = false;
  std::unique_ptr<Bootstrap> bootstrap;
  std::unique_ptr<Links> links;
  std::unique_ptr<DeviceState> device_state;  // null with one rank, until it needs a kernel
  std::unique_ptr<GraphOrder> graphs;
  std::unique_ptr<PeerAccess> peer_access;  // null: no zero-copy, on any rank
  size_t zero_copy_bytes() const;           // from so many on, 0: never

  std::mutex launch_mutex;
  const std::unique_ptr<Planner> planner;  // under launch_mutex
  KernelOrder order;                       // under launch_mutex
  uint64_t random_state = 0;               // of WEFT_RANDOM_GRID, under launch_mutex

  UserOps user_ops;  // any thread

  Registrations registrations;
  Windows windows;

  // Init, or later a split, of a non-blocking communicator; joined by close.cc.
  std::thread init_thread;
  // Jobs of hosts in the background that are not done (host_jobs.h).
  std::atomic<int> host_jobs{0};
  // Held by a job of hosts, and by close.cc while it takes the bootstrap away.
  std::mutex host_mutex;

 private:
  void take_fault();
  void take_events();
  enum class Finder { kKernel, kOtherRank };
  void add_async_error(Finder finder, ncclResult_t code, const std::string& text);
  std::string fault_text(const Fault& fault) const;
  std::string with_own_call(const Bootstrap::PeerEvent& event) const;

  const int rank_, size_, device_;
  const std::shared_ptr<const Config> config_;
  const CommOptions options_;
  const Rules rules_;
  std::atomic<CommState> state_{CommState::kInitializing};
  std::atomic<bool> interrupted_{false};

  mutable std::mutex error_mutex_;
  ncclResult_t error_ = ncclSuccess;
  std::string error_text_;
  std::set<Finder> told_;  // whose error is part of the text
  std::set<int> gone_;

  static constexpr size_t kRemembered = 64;
  std::array<Request, kRemembered> recent_{};  // under error_mutex_
  uint64_t sequence_ = 0;                      // operations launched
};

}  // namespace weft

// The handle of the C API.
struct ncclComm {
  static constexpr uint64_t kLive =
      0x6d6d6f63'74666577;  // any other value: not a communicator of ours, or destroyed
  std::atomic<uint64_t> magic{kLive};
  std::mutex mutex;
  std::shared_ptr<weft::Communicator> comm;  // under mutex
};

namespace weft {

// Handles outlive their communicator, so that a call with a destroyed one finds that out instead of
// reading freed memory. They are small and used again, the oldest first, once many are unused.
ncclComm* open_handle(std::unique_ptr<Communicator> comm);
// Throw Error(ncclInvalidArgument) naming `function` for null, destroyed and foreign pointers.
// Whoever holds the result may go on while another thread closes the handle.
std::shared_ptr<Communicator> communicator_of(ncclComm_t handle, const char* function);
// The same, and the handle is not valid any more: only one caller gets it.
std::shared_ptr<Communicator> close_handle(ncclComm_t handle, const char* function);

}  // namespace weft
