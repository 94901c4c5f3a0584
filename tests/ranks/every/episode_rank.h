// One rank's way through an episode (random_episode.h): its communicators, its calls, its checks.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include "random_episode.h"
#include "rank_operation.h"

namespace weft::test {

// What ranks of one process share. Ids are by communicator, those of one call are made beforehand.
struct Meeting {
  std::vector<ncclUniqueId> ids;
  std::vector<std::vector<ncclComm_t>> made;  // by communicator and rank of it
  std::atomic<bool> failed = false;
};

// Used by one thread at a time, with the rank's device current.
class EpisodeRank {
 public:
  EpisodeRank(const Episode& episode, int rank, Meeting& meeting);
  ~EpisodeRank();
  EpisodeRank(const EpisodeRank&) = delete;
  EpisodeRank& operator=(const EpisodeRank&) = delete;

  void make_comms();
  // Calls of batches[i]; then waits for them and compares. Throws what went wrong, with the
  // operation.
  void issue(size_t batch);
  void finish(size_t batch);

 private:
  void make_comm(size_t comm);
  void check_state();
  std::string where(size_t batch, size_t call) const;

  const Episode& episode_;
  const int rank_;
  Meeting& meeting_;
  std::vector<ncclComm_t> comms_;
  std::vector<hipStream_t> streams_;
  std::vector<std::unique_ptr<RankOperation>> pending_;  // by call; null: not a member
};

// All batches of one rank, on the calling thread. "" or what went wrong; stops when another failed.
std::string run_rank(const Episode& episode, int rank, Meeting& meeting);

}  // namespace weft::test
