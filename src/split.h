// ncclCommSplit. Owns: who is in which new communicator, how its ranks learn its id. The new
// communicators then come to be as any other (init.h); they share nothing with the parent. Works
// over the parent's bootstrap only, so the parent's kernels may run meanwhile.
#pragma once

#include <rccl/rccl.h>

#include <string>
#include <vector>

#include "communicator.h"
#include "group.h"
#include "host_jobs.h"

namespace weft {

// What a rank says to the others.
struct SplitVote {
  int32_t color, key;
  int32_t code;  // ncclResult_t: why this rank cannot take part
};

// Old ranks of equal colour in the order of the new communicator: by key, then by old rank.
std::vector<int> split_members(const std::vector<SplitVote>& votes, int color);

struct SplitCall {
  ncclComm_t* out;
  int color, key;
  CommOptions options;
  Refusal refusal;  // of this rank's arguments
};
// Throws Error(ncclInvalidArgument) for what is no colour.
void require_color(int color);
// Collective over `parent`. The init of this rank's new communicator; with NCCL_SPLIT_NOCOLOR none,
// and *out becomes NULL. Throws on all ranks when one refuses or fails.
std::vector<InitJob> split(Communicator& parent, const SplitCall& call);

}  // namespace weft
