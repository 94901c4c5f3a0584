// Keeps what closed communicators leave behind until no peer writes to it any more: each rank says
// goodbye once its kernels have ended, and memory is given back when all peers with a link to it
// have said so or are dead. What kernels of graphs read is kept until the graphs have ended, too:
// one that is launched meanwhile does nothing, which is told. Owns: retired bootstraps, links and
// device memory, and one thread that runs while there are any (without a thread to be had, whoever
// comes by does its work).
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "communicator.h"

namespace weft {

class Reaper {
 public:
  static Reaper& instance();

  // Takes the resources of `comm`. `quiet`: this rank's kernels have ended, so peers are told. Does
  // not wait; the end of the process waits some seconds for peers in other processes.
  void take(Communicator& comm, bool quiet) noexcept;

 private:
  struct Retired;
  Reaper() = default;
  void run();
  // Gives back what nobody writes to any more; the lock is let go meanwhile.
  void free_ended(std::unique_lock<std::mutex>& lock);
  using List = std::list<std::unique_ptr<Retired>>;
  // Takes those that have `ended` out of a list.
  template <class Ended>
  static List take_if(List& from, Ended ended);
  void stop();
  void adopt(std::unique_ptr<Retired> retired);

  std::mutex mutex_;
  std::condition_variable changed_;
  List retired_;
  List held_by_graphs_;  // nothing is left of them but what kernels of graphs read
  std::thread thread_;
  bool running_ = false, stop_ = false;
};

}  // namespace weft
