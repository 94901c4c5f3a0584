// Which algorithm and protocol an operation takes. Owns: the user's rules (NCCL_ALGO, NCCL_PROTO)
// and the choice of what is cheapest among what they leave. Uses rank-invariant keys only, so that
// all ranks choose the same.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "algorithms/pattern_cost.h"
#include "algorithms/registry.h"
#include "launch_shape.h"

namespace weft {

// What the user's rules leave of the registry, by collective.
class Rules {
 public:
  // The texts of NCCL_ALGO and NCCL_PROTO: `[func:][^]name,name;func:...`. Throws
  // Error(ncclInvalidUsage) naming what is wrong: an unknown name or function, or rules for a
  // function that leave nothing of what this version has for it. Rules for all functions leave a
  // collective as it is that has nothing of what they name.
  // `unsafe`: WEFT_UNSAFE.
  Rules(const std::string& algo, const std::string& proto, bool unsafe = false);

  bool allows(Collective collective, std::string_view family) const;
  bool allows(Collective collective, Protocol protocol) const;
  // By name: where a protocol is not proven, a user who writes it wants it all the same.
  bool asks_for(Collective collective, Protocol protocol) const;
  bool unsafe() const { return unsafe_; }

 private:
  // A list of names to take, or to leave out. Empty: everything.
  struct Names {
    bool exclude = true;
    bool by_function = false;  // written for this function
    std::string names;         // ",ring,tree,": lower case
    bool allow(std::string_view name) const;
  };
  using Table = std::array<Names, kCollectiveCount>;

  static Table parse(const char* variable, const std::string& text, std::string_view known_names);
  bool leaves_something(Collective collective) const;
  void require_something(const std::string& algo, const std::string& proto);

  bool unsafe_;
  Table algorithms_, protocols_;
};

// Whether contributions are added in the order of ranks and rounded once.
bool folds_in_rank_order(PatternId id);

// Whether the hardware has it. `by_name`: whoever asks wrote its name (platform/legality.h).
bool is_offered(Protocol protocol, bool by_name, bool unsafe = false);

struct Choice {
  const AlgorithmRow* algorithm;
  Protocol protocol;
  bool zero_copy = false;  // where all ranks' buffers are reached (patterns/mapped.h), else as told
  double us = 0;           // by the model, without the launch
  uint32_t channels = 0;   // by the model; 0: it does not say
};

// The algorithms of one communicator with what they cost.
class Selector {
 public:
  // `in_rank_order`: only those that fold all contributions in the order of ranks
  // (WEFT_DETERMINISTIC). `zero_copy_bytes`: from so many on what direct algorithms move over
  // Simple goes without copies; 0: never. `costs`: of what they are the cheapest. Throws
  // Error(ncclInvalidUsage) when nothing is left for a collective.
  Selector(const Rules& rules, int ranks, bool in_rank_order, size_t zero_copy_bytes = 0,
           const platform::CostTable& costs = platform::kCosts);

  // The cheapest for segments (collective.h) of so many bytes. `long_lines`: LL128 can carry it;
  // else that is taken only where the rules leave nothing else.
  Choice choose(Collective collective, size_t segment_bytes, bool long_lines = true) const;

 private:
  struct Candidate {
    Choice choice;
    PatternCost cost;
  };
  bool goes_without_copies(const Choice& choice, size_t segment_bytes) const;
  platform::CostTable::Estimate estimate(const Candidate& candidate, size_t segment_bytes) const;

  int ranks_;
  size_t zero_copy_bytes_;
  platform::CostTable costs_;
  std::array<std::vector<Candidate>, kCollectiveCount> candidates_;  // direct ones first
};

}  // namespace weft
