// The meeting of all ranks of one id. Owns: a thread, the listener, one connection per rank that
// checked in, the verdict. Does not own: which id it serves (id_table.h) or the tree that comes out
// of it (tree.h). It ends when every rank has left with a goodbye, or some time after it had to
// give a bad verdict.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "bootstrap/acceptor.h"
#include "bootstrap/messages.h"
#include "bootstrap/worker_thread.h"

namespace weft {

class RootService {
 public:
  struct Options {
    std::vector<Fd> listeners;
    Key key;
    uint64_t comm = 0;
    std::string label;  // for texts
    // From the first check-in on; a rank may ask for less. Without any check-in the service waits
    // longer (root.cc).
    milliseconds timeout{};
    milliseconds progress_interval{30'000};
  };
  explicit RootService(Options options);
  ~RootService();  // drops everybody, ends the thread

  bool ended() const { return ended_.load(); }
  // Nobody can check in any more. A failed meeting stays open a while and tells late ranks its
  // verdict.
  bool closed() const { return closed_.load(); }
  // Why an id that ended cannot be used; "" while the meeting goes on.
  std::string outcome() const;

 private:
  struct Member {
    Stream stream;
    Card card;
    bool leaving = false;  // said goodbye, or got a bad verdict: its end is no death
  };
  enum class Phase { kMeeting, kForming, kFailed };

  void run();
  void poll_once();
  Clock::time_point next_look() const;
  void on_time();
  void on_accepted(Acceptor::Accepted& arrival);
  void admit(Stream stream, const CheckIn& check_in);
  std::string contradiction(const Card& card) const;
  void on_other_version(const Hello& hello);
  void serve(Member& member);
  void on_notice(Member& member, const Notice& notice);
  void lost(Member& member, const std::string& why);
  void all_met();
  void give_up(ncclResult_t code, const std::string& text);
  void tell(Member& member, FrameType type, ByteSpan payload);
  void report_progress();
  std::string missing_text() const;
  bool finished() const;

  Options options_;
  Acceptor acceptor_;
  WakeEvent wake_;
  std::atomic<bool> stop_{false}, ended_{false}, closed_{false};
  Phase phase_ = Phase::kMeeting;
  std::map<uint32_t, Member> members_;
  std::vector<Member> turned_away_;  // wait for their bad verdict to drain
  uint32_t nranks_ = 0;              // of the first check-in; 0: nobody came yet
  Clock::time_point deadline_, next_progress_;
  Verdict bad_verdict_;
  mutable std::mutex outcome_mutex_;
  std::string outcome_;
  WorkerThread thread_;  // last: starts when all else is there
};

// "1, 3-7, 12"
std::string rank_list_text(const std::vector<uint32_t>& sorted);

}  // namespace weft
