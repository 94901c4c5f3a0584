// The listening end: strangers go in, genuine connections with their first frame come out.
// Owns: listeners, and the bounded table of connections that have not yet proved themselves.
// Does not own: the poll loop (root.cc, tree.cc call fill_poll and progress) or what the first
// frame says.
#pragma once

#include <poll.h>

#include <list>

#include "bootstrap/handshake.h"
#include "bootstrap/stream.h"
#include "bootstrap/wait.h"

namespace weft {

class Acceptor {
 public:
  struct Accepted {
    Stream stream;
    Hello hello;
    Frame first;
  };
  // A genuine connection, but built for another wire version.
  struct OtherVersion {
    Hello hello;
  };
  struct Arrivals {
    std::vector<Accepted> accepted;
    std::vector<OtherVersion> other_versions;
  };

  Acceptor() = default;
  Acceptor(std::vector<Fd> listeners, const AcceptorHandshake::Self& self, size_t max_pending);
  // Appends what must be polled; progress() then finds the results at the same place.
  void fill_poll(std::vector<pollfd>& set) const;
  Arrivals progress(std::span<const pollfd> set);
  // The next moment at which progress() has something to do without an event.
  Clock::time_point next_deadline() const;
  // No new connections; those half-way are dropped.
  void close();
  bool is_open() const { return !listeners_.empty(); }

 private:
  struct Pending {
    Pending(Fd accepted, AcceptorHandshake handshake, Clock::time_point until)
        : fd(std::move(accepted)), shake(std::move(handshake)), deadline(until) {}
    Fd fd;
    AcceptorHandshake shake;
    Clock::time_point deadline;
    Bytes in, out;
    bool proved = false;      // the handshake is done, the first frame is awaited
    bool last_words = false;  // drop when `out` is sent
    bool genuine = false;     // its hello was keyed: not counted when it leaves
    Stream stream;
  };
  using PendingList = std::list<Pending>;
  enum class Fate { kStays, kLeaves, kAccepted };

  void accept_all(const Fd& listener, Arrivals& arrivals);
  void make_room();
  void drop(PendingList::iterator at);
  Fate advance(Pending& pending, Arrivals& arrivals);
  Fate shake(Pending& pending, Arrivals& arrivals);
  Fate read_first_frame(Pending& pending, Arrivals& arrivals);
  static bool send_out(Pending& pending);

  std::vector<Fd> listeners_;
  AcceptorHandshake::Self self_{};
  size_t max_pending_ = 0;
  PendingList pending_;               // oldest first
  Clock::time_point listen_again_{};  // after running out of descriptors
};

uint64_t strangers_dropped() noexcept;

}  // namespace weft
