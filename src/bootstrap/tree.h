// The tree of connections of one rank, and everything that travels along it: gathers, mail,
// notices. Owns: the edges, the thread that serves them (tree_loop.cc), what arrived and was not
// yet taken. Does not own: how the ranks met (check_in.h), the shape (tree_shape.h), joining
// gathers (gather.h). All state is under mutex_. The thread holds it except inside poll(); callers
// wait on changed_. Only the thread closes descriptors.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>

#include "bootstrap/acceptor.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/gather.h"
#include "bootstrap/mailbox.h"
#include "bootstrap/worker_thread.h"

namespace weft {

class Tree {
 public:
  struct Setup {
    Card own;
    std::optional<Card> parent;
    Key key;
    uint64_t comm = 0;
    std::vector<Fd> listeners;
    Stream root;  // after a good verdict
  };
  explicit Tree(Setup setup);
  ~Tree();  // without close(): the neighbours see this rank die

  // Forming, in this order.
  void adopt_parent(Stream stream);
  // Until all neighbours are connected. Error(ncclSystemError) naming the missing ones at the
  // deadline.
  void wait_formed(const Wait& wait);
  // No further connections; goodbye to the root.
  void finish_forming();
  // True once this rank cannot go on; for Wait::pointless.
  const std::atomic<bool>& failed() const { return failed_; }
  // Throws the failure, if there is one.
  void check();

  std::vector<std::string> gather(GatherKind kind, uint64_t bytes_each, std::string own,
                                  const Wait& wait);
  void send(int peer, uint32_t tag, ByteSpan message);
  Bytes receive(int peer, uint32_t tag, const Wait& wait);
  std::optional<Bytes> try_receive(int peer, uint32_t tag);
  // This rank gives up: tells everybody, once.
  void announce(ncclResult_t code, const std::string& reason);
  std::vector<Bootstrap::PeerEvent> take_events();
  void close(milliseconds limit);

 private:
  using Lock = std::unique_lock<std::mutex>;
  enum class Phase { kForming, kOpen, kClosing, kClosed };
  struct Edge {
    int rank = -1;
    std::string name;  // "rank 3 on host a (pid 7)" once known
    Stream stream;
    bool connected = false;  // stays true after the end
    bool excused = false;    // said goodbye or failed: its end is no death
    bool write_ended = false;
  };
  struct Failure {
    ncclResult_t code;
    std::string text;
  };

  static std::vector<Edge> edges_of(const TreeShape& shape, const std::optional<Card>& parent);
  // tree.cc, called with the lock held
  void check_locked() const;
  void wait_change(Lock& lock, const Wait& wait);
  void post(Edge& edge, SharedBytes frame);
  void flood(const Notice& notice, const Edge* except);
  void tell_root(const Notice& notice);
  void advance(uint64_t round);
  void set_failure(ncclResult_t code, const std::string& text);
  void check_peer(int peer) const;
  void check_reachable(int peer) const;
  std::string own_name() const { return setup_.own.text(); }
  Edge* edge_to(int rank);
  std::string late_text(uint64_t round) const;

  // tree_loop.cc, on the thread
  void loop();
  bool step(Lock& lock);
  void serve(Edge& edge);
  void serve_root();
  void on_arrivals(Acceptor::Arrivals arrivals);
  bool on_frame(Edge& edge, Frame& frame);
  bool on_mail(Frame& frame);
  bool on_gather_up(Edge& edge, const Frame& frame);
  bool on_gather_down(Edge& edge, Frame& frame);
  void on_notice(Edge* from, const Notice& notice);
  void on_end(Edge& edge, const std::string& why);
  bool closing_done();

  Setup setup_;
  TreeShape shape_;
  WakeEvent wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::kForming;
  bool stop_ = false;
  Clock::time_point closing_deadline_{};
  Acceptor acceptor_;
  bool root_excused_ = false;
  std::vector<Edge> edges_;  // children in order, then the parent
  GatherRounds rounds_;
  std::map<uint64_t, Gather> results_;
  Mailbox mailbox_;
  std::optional<Failure> failure_;
  std::atomic<bool> failed_{false};
  std::set<int> left_, lost_;  // in good order; failed or died
  std::vector<Bootstrap::PeerEvent> events_;
  WorkerThread thread_;  // last: starts when all else is there
};

}  // namespace weft
