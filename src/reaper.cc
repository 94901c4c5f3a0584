// The reaper (reaper.h).
#include "reaper.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "bootstrap/tree_shape.h"
#include "log.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint32_t kGoodbyeTag = 0x676f6f64;
// Before memory is given up for good; and when the process ends, for peers of other processes.
constexpr milliseconds kWaitInBackground{60000}, kWaitAtExit{5000};
constexpr milliseconds kPollEvents{2}, kPollGraphs{50};
constexpr milliseconds kFlushLimit{1000};

// What kernels of this process may still use when their communicator is given up. Never destroyed.
struct Kept {
  std::unique_ptr<Links> links;
  std::unique_ptr<DeviceState> state;
  std::unique_ptr<GraphOrder> graphs;
  std::unique_ptr<PeerAccess> access;
};
void keep_for_ever(Kept one) noexcept {
  static std::mutex mutex;
  static auto* kept = new std::vector<Kept>;
  const std::lock_guard lock(mutex);
  try {
    kept->reserve(kept->size() + 1);
    kept->push_back(std::move(one));
  } catch (const std::bad_alloc&) {  // nobody will find it any more, which is as good
    (void)one.links.release();
    (void)one.state.release();
    (void)one.graphs.release();
    (void)one.access.release();
  }
}

}  // namespace

struct Reaper::Retired {
  int rank = 0;
  std::unique_ptr<Bootstrap> bootstrap;
  std::unique_ptr<Links> links;
  std::unique_ptr<DeviceState> device_state;
  std::unique_ptr<PeerAccess> peer_access;
  std::unique_ptr<GraphOrder> graphs;
  std::set<int> pending;          // peers that may still write to us
  std::set<int> other_processes;  // of these
  Clock::time_point deadline = Clock::now() + kWaitInBackground;
  bool quiet = true;
  bool told = false;  // that a graph was launched in vain

  // The farthest in the bootstrap's tree first: a peer closes once it has heard from all, and must
  // have passed on by then what goes through it.
  void say_goodbye() {
    std::vector<int> peers(pending.begin(), pending.end());
    const auto hops = [&](int peer) { return tree_path(rank, peer, bootstrap->size()).size(); };
    std::sort(peers.begin(), peers.end(), [&](int a, int b) { return hops(a) > hops(b); });
    for (const int peer : peers) try {
        bootstrap->send(peer, kGoodbyeTag, {});
      } catch (const std::exception&) {  // it is dead: poll() finds out
      }
  }

  // Whether nothing is left to wait for.
  bool poll() {
    for (const Bootstrap::PeerEvent& event : bootstrap->poll_events())
      if (event.gone) pending.erase(event.rank);
    std::vector<std::byte> message;
    std::erase_if(pending,
                  [&](int peer) { return bootstrap->try_receive(peer, kGoodbyeTag, message); });
    std::erase_if(other_processes, [&](int peer) { return !pending.contains(peer); });
    return pending.empty() || Clock::now() > deadline;
  }

  // Memory that someone may still write to is never used again.
  void free() noexcept {
    if (!pending.empty())
      log_warn(
          "rank {}: {} peers did not close the communicator; memory they may still write to is not "
          "used again",
          rank, pending.size());
    if (quiet) {
      if (links) links->close(pending.empty());
    } else {  // kernels of this rank still use both
      keep_for_ever(
          {std::move(links), std::move(device_state), std::move(graphs), std::move(peer_access)});
    }
    if (bootstrap) bootstrap->close(kFlushLimit);
    links.reset();
    bootstrap.reset();
  }

  // Whether kernels of graphs may still come; says so when one has come.
  bool is_held() noexcept {
    if (!told && device_state && device_state->fault().kind == Fault::kClosed) {
      told = true;
      log_warn(
          "rank {}: a graph was launched that holds operations of a communicator which was "
          "destroyed: they did nothing, and what the graph computes from their results is wrong",
          rank);
    }
    return graphs && graphs->any_live();
  }
};

// Never destroyed: a static destructor of the program may still close a communicator.
Reaper& Reaper::instance() {
  static auto* reaper = new Reaper;
  static const struct AtExit {
    ~AtExit() { reaper->stop(); }
  } at_exit;
  return *reaper;
}

// Peers of other processes may still write to memory that ends with this process: they get some
// time.
void Reaper::stop() {
  {
    std::unique_lock lock(mutex_);
    const auto limit = Clock::now() + kWaitAtExit;
    const auto none_waits = [&] {
      return std::none_of(retired_.begin(), retired_.end(), [](const auto& each) {
        return each->quiet && !each->other_processes.empty();
      });
    };
    while (!none_waits() && Clock::now() < limit) {
      if (!running_) free_ended(lock);  // no thread could be had
      changed_.wait_for(lock, kPollEvents, none_waits);
    }
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Reaper::take(Communicator& comm, bool quiet) noexcept {
  auto retired = std::make_unique<Retired>();
  retired->rank = comm.rank();
  if (comm.peer_access) comm.peer_access->stop();  // it uses the bootstrap
  retired->bootstrap = std::move(comm.bootstrap);
  retired->links = std::move(comm.links);
  retired->device_state = std::move(comm.device_state);
  retired->peer_access = std::move(comm.peer_access);
  retired->graphs = std::move(comm.graphs);
  retired->quiet = quiet;
  if (!retired->bootstrap) return;
  const std::set<int> gone = comm.gone_ranks();
  for (int peer = 0; retired->links && peer < comm.size(); ++peer) {
    if (retired->links->inbox(peer) == nullptr || gone.contains(peer)) continue;
    retired->pending.insert(peer);
    if (comm.ranks[peer].process_hash != comm.ranks[comm.rank()].process_hash)
      retired->other_processes.insert(peer);
  }
  if (quiet) retired->say_goodbye();
  adopt(std::move(retired));
}

void Reaper::adopt(std::unique_ptr<Retired> retired) {
  std::unique_lock lock(mutex_);
  retired_.push_back(std::move(retired));
  changed_.notify_all();
  if (stop_) return;  // the process ends: its memory goes with it
  if (!running_) {
    if (thread_.joinable()) thread_.join();
    try {
      thread_ = std::thread([this] { run(); });
      running_ = true;
    } catch (const std::system_error& error) {
      // Here, then, as far as it goes without waiting; the next one to be taken tries again.
      log_warn("cannot start a thread that closes communicators: {}", error.what());
      free_ended(lock);
    }
  }
}

template <class Ended>
Reaper::List Reaper::take_if(List& from, Ended ended) {
  List taken;
  for (auto it = from.begin(); it != from.end();) {
    const auto next = std::next(it);
    if (ended(**it)) taken.splice(taken.end(), from, it);
    it = next;
  }
  return taken;
}

void Reaper::free_ended(std::unique_lock<std::mutex>& lock) {
  List ended = take_if(retired_, [](Retired& each) { return each.poll(); });
  List let_go = take_if(held_by_graphs_, [](Retired& each) { return !each.is_held(); });
  changed_.notify_all();
  lock.unlock();
  let_go.clear();
  for (auto& retired : ended) retired->free();
  List held = take_if(ended, [](Retired& each) { return each.is_held(); });
  ended.clear();
  lock.lock();
  held_by_graphs_.splice(held_by_graphs_.end(), held);
}

void Reaper::run() {
  std::unique_lock lock(mutex_);
  while (!(retired_.empty() && held_by_graphs_.empty()) && !stop_) {
    free_ended(lock);
    if (!retired_.empty()) changed_.wait_for(lock, kPollEvents, [&] { return stop_; });
    if (retired_.empty() && !held_by_graphs_.empty())
      changed_.wait_for(lock, kPollGraphs, [&] { return stop_ || !retired_.empty(); });
  }
  running_ = false;
}

}  // namespace weft
