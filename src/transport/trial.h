// Takes one way (way.h) through its steps on all ranks together: offer, map and store a pattern,
// read it back. Three exchanges, whatever the number of ranks; a pair that fails at any step on
// either end is given up by both. Owns: the order of steps and the agreement on who uses the way.
// Does not own: what happens to pairs that failed (links.cc).
#pragma once

#include <vector>

#include "bootstrap/bootstrap.h"
#include "transport/way.h"

namespace weft {

struct TrialResult {
  PairTable failed;        // of all ranks, the same on all
  bool unsettled = false;  // a test transfer of some rank may still write to a box of this way
  bool own_stuck = false;  // one of this rank's own never ended: what it writes to must stay mapped
};

// Collective. `peers`: the ranks this rank tries the way with; if a is among the peers of b, b is
// among those of a. Throws what `way` throws, on all ranks; `result.unsettled` is right then too.
void try_way(Way& way, Bootstrap& bootstrap, const LinkContext& context,
             const std::vector<int>& peers, TrialResult& result);

}  // namespace weft
