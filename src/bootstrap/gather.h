// All-gathers as one rank of the tree sees them, round by round, without sockets. Owns: what has
// arrived for each round, and noticing that ranks made different calls. Does not own: moving the
// messages (tree.cc). A child may be one round ahead of its parent's own caller, so more than one
// round can be open.
#pragma once

#include <map>
#include <optional>

#include "bootstrap/messages.h"
#include "bootstrap/tree_shape.h"

namespace weft {

class GatherRounds {
 public:
  explicit GatherRounds(TreeShape shape) : shape_(std::move(shape)) {}

  // This rank's part; returns its round.
  uint64_t add_own(GatherKind kind, uint64_t bytes_each, std::string text);
  // The part of the subtree of child number `child`. False: not a message that child can send.
  bool add_child(size_t child, Gather part);
  // When every part of the subtree is there, once: the parts in rank order, to go up (or, at rank
  // 0, the result). Throws Error(ncclInvalidUsage) naming both ranks when a child's subtree made
  // another call than this rank.
  std::optional<Gather> take_complete(uint64_t round);

  // Children of `round` whose part is missing.
  std::vector<RankRange> missing(uint64_t round) const;

 private:
  struct Round {
    std::optional<Gather> own;
    std::vector<std::optional<Gather>> parts;
  };
  Round& open(uint64_t round);
  TreeShape shape_;
  uint64_t next_own_ = 0;
  std::map<uint64_t, Round> rounds_;
};

}  // namespace weft
