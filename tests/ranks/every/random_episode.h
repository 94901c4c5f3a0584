// Random operations on random communicators, all made from one seed: any thread or process that has
// the seed has the same list. An episode is one world of ranks with its settings; its own seed
// repeats it. Next: episode_rank.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "operation.h"

namespace weft::test {

enum class Making { kId, kOneCall, kSplit };  // ncclCommInitRank, ncclCommInitAll, ncclCommSplit

struct CommPlan {
  Making making;
  std::vector<int> members;           // ranks of the world by rank of the communicator
  int rank_of(int world_rank) const;  // -1: no member
};

struct CommCall {
  size_t comm;  // in Episode::comms
  Operation operation;
};
// Operations that are issued before any of them is waited for.
struct Batch {
  bool grouped;
  std::vector<CommCall> calls;
};

inline constexpr size_t kStreams = 3;

struct Episode {
  uint64_t seed;
  int ranks;
  bool one_thread;  // issues the calls of all ranks, in one group
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<CommPlan> comms;  // the first one holds all ranks
  std::vector<Batch> batches;

  size_t operations() const;
  std::string text() const;
};

// In threads of one process, or in processes. `operations` only says where the list ends.
Episode make_episode(uint64_t seed, size_t operations, bool threads);

// Which stream a rank takes for an operation.
size_t stream_of(const Operation& operation, int world_rank);

}  // namespace weft::test
