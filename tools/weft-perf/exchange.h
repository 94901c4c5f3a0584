// How the processes of one run tell each other things: the unique id, block times, error counts.
// Owns: the interface and what is built on it. Implementations: one process (here), sockets in a
// star around rank 0 (star_exchange.cc: inherited or TCP), a PMIx server (pmix_exchange.cc). Every
// process makes the same calls in the same order. Calls block; the watchdog (-T) ends a wait that
// lasts too long.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch_env.h"

namespace weft::perf {

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Everyone's text, by rank. Throws Failure when another process is gone.
  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;

  // Leaves when all are there.
  void barrier() { all_gather(""); }
  // Rank 0's text.
  std::string from_first(const std::string& mine) { return all_gather(mine)[0]; }
  std::vector<double> all_gather_number(double mine);
};

// Meets the other processes as `place` says. pmix_library: "" for libpmix.so.2.
std::unique_ptr<Exchange> open_exchange(const Place& place, const std::string& pmix_library);

// The implementations' own makers.
std::unique_ptr<Exchange> star_of_sockets(int rank, int size, std::vector<int> sockets);
std::unique_ptr<Exchange> star_over_tcp(const Place& place);
std::unique_ptr<Exchange> exchange_over_pmix(const std::string& library);

}  // namespace weft::perf
