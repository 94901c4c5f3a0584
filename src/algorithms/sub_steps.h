// What a step is in single moves: itself, or, for a step by peer, one move a peer and the copy of
// the own chunk. The order is that of device/engine.h. For what walks patterns on the host: the
// simulator (simulate.h) and the cost model (pattern_cost.h).
#pragma once

#include <vector>

#include "algorithms/step.h"

namespace weft {

// Takes `chunk` from the input, when asked, and from each of `recv`; gives the result to the
// output, when asked, and to each of `send`.
struct SubStep {
  int hop = 0;
  std::vector<int> recv, send;
  bool read_input = false, write_output = false, finish = false;
  int chunk = 0;
};

namespace detail {

inline std::vector<int> list(const Peers& peers, int place, int n) {
  std::vector<int> places;
  for (int i = 0; i < peers.candidates(n); ++i)
    if (peers.at(i, place) >= 0) places.push_back(peers.at(i, place));
  return places;
}

// Starts beside the place itself, so that not all places turn to the same one at once: upwards for
// sending, downwards for receiving, so that who sends first to me is received from first.
inline std::vector<int> rotated(const Peers& peers, int place, int n, bool upwards) {
  std::vector<bool> wanted(n);
  for (int peer : list(peers, place, n)) wanted[peer] = true;
  std::vector<int> places;
  for (int i = 1; i < n; ++i) {
    const int peer = (place + (upwards ? i : n - i)) % n;
    if (wanted[peer]) places.push_back(peer);
  }
  return places;
}

}  // namespace detail

// Appends the moves of `step`; none for a step that has nothing to take.
inline void add_sub_steps(std::vector<SubStep>& moves, const Step& step, int place, int n,
                          int hop) {
  if (!step.by_peer) {
    if (!step.recv.any() && !step.read_input) return;
    moves.push_back({hop, detail::list(step.recv, place, n), detail::list(step.send, place, n),
                     step.read_input, step.write_output, step.finish, step.chunk});
    return;
  }
  for (int peer : detail::rotated(step.recv, place, n, false))
    moves.push_back({hop, {peer}, {}, false, step.write_output, false, peer});
  for (int peer : detail::rotated(step.send, place, n, true))
    moves.push_back({hop, {}, {peer}, true, false, false, peer});
  if (step.send.any() && step.write_output)
    moves.push_back({hop, {}, {}, true, true, false, place});
}

}  // namespace weft
