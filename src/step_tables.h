// The steps of one rank, as its kernels read them: patterns worked out on the host and kept in
// device memory, so that kernels hold the engine alone and a schedule that was read from a file is
// run like any pattern (docs/decisions/0003). Owns: the tables of one communicator, even and odd
// channels each. Does not own: patterns (algorithms/patterns/).
//
// Thread rule: one thread at a time.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "algorithms/pattern.h"
#include "device/work.h"
#include "state_memory.h"

namespace weft {

class StepTables {
 public:
  // On the current device. With few ranks all tables are there from the start, with many those of
  // other roots come when they are asked for.
  StepTables(int rank, int ranks);

  // Work::list. May copy to the device, and waits for that copy only. `root` is 0 where there is
  // none.
  StepList find(PatternId pattern, int root) { return find({int(pattern), root}); }
  // MappedWork::list.
  StepList find_mapped(Collective collective, int root) {
    return find({kPatternCount + int(collective), root});
  }
  // The same for this rank's steps of a schedule, which `id` names: all channels do `steps`. Stays
  // as long as the tables do, since a graph may hold it; loaded again, it is found again.
  StepList find(uint64_t id, const std::vector<Step>& steps);

 private:
  using Key = std::pair<int, int>;  // a pattern, or kPatternCount and a collective; the root
  // On the host: `steps` is all that lies on the device, of which `count` count.
  struct Table {
    std::vector<Step> steps;
    int count;
  };
  StepList find(const Key& key);
  Table table_of(const Key& key) const;
  Table mapped_table(Collective collective, int root) const;
  Table two_kinds(std::vector<Step> even, std::vector<Step> odd) const;
  void upload(const std::vector<Key>& keys);
  const Step* copy(const std::vector<Step>& steps);

  const int rank_, ranks_;
  std::vector<StateMemory> memory_;
  std::map<Key, StepList> tables_;
  std::map<uint64_t, StepList> schedules_;
};

}  // namespace weft
