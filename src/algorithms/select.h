// Which algorithm and protocol an operation takes. Owns: the user's rules (NCCL_ALGO, NCCL_PROTO)
// and the choice. Uses rank-invariant keys only, so that all ranks choose the same.
#pragma once

#include <array>
#include <string>

#include "algorithms/registry.h"

namespace weft {

struct Choice {
  const AlgorithmRow* algorithm;
  Protocol protocol;
};

// What the user's rules leave of the registry, by collective.
class Rules {
 public:
  // The texts of NCCL_ALGO and NCCL_PROTO: `[func:][^]name,name;func:...`. Throws
  // Error(ncclInvalidUsage) naming what is wrong: an unknown name or function, or rules that leave
  // nothing of what this version has for a collective.
  Rules(const std::string& algo, const std::string& proto);

  bool allows(Collective collective, std::string_view algorithm) const;
  bool allows(Collective collective, Protocol protocol) const;

 private:
  // A list of names to take, or to leave out. Empty: everything.
  struct Names {
    bool exclude = true;
    std::string names;  // ",ring,tree,": lower case
    bool allow(std::string_view name) const;
  };
  using Table = std::array<Names, kCollectiveCount>;

  static Table parse(const char* variable, const std::string& text, std::string_view known_names);
  void require_something(const std::string& algo, const std::string& proto) const;

  Table algorithms_, protocols_;
};

// `rules` leave something (see Rules).
Choice select(Collective collective, const Rules& rules);

}  // namespace weft
