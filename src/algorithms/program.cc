// Programs of patterns, and what is wrong with a step (program.h).
#include "algorithms/program.h"

#include <fmt/format.h>

namespace weft {
namespace {

const char* by_peer_error(const Program& program, const Step& step, int places) {
  if (step.recv.any() && step.send.any()) return "a step by peer that sends and receives";
  if (step.send.any() && !step.read_input) return "sends by peer and does not read the input";
  if (step.recv.any() && step.read_input) return "a step by peer that would reduce";
  if (step.finish) return "a step by peer that finishes";
  if (program.chunks < places) return "a step by peer and no chunk for each peer";
  return "";
}

const char* peers_error(const Peers& peers, int place, int places) {
  std::vector<bool> seen(places);
  for (int i = 0; i < peers.candidates(places); ++i) {
    const int peer = peers.at(i, place);
    if (peer < 0) continue;
    if (peer >= places) return "no such place";
    if (peer == place) return "talks to itself";
    if (seen[peer]) return "the same place twice";
    seen[peer] = true;
  }
  return "";
}

std::string step_error(const Program& program, const Step& step, int place, int places) {
  if (step.chunk < 0 || step.chunk >= program.chunks) return "no such chunk";
  std::string error = step.by_peer ? by_peer_error(program, step, places) : "";
  if (error.empty()) error = peers_error(step.recv, place, places);
  if (error.empty()) error = peers_error(step.send, place, places);
  return error;
}

}  // namespace

Moves moves_of(const Program& program, int place, int places) {
  Moves moves;
  Hops hops;
  for (int hop = 0; hop < program.hops; ++hop) {
    const Step step = program.step(place, hop);
    const std::string error = step_error(program, step, place, places);
    if (!error.empty()) {
      moves.error = fmt::format("place {} of {}, hop {}: {}", place, places, hop, error);
      return moves;
    }
    add_sub_steps(moves.all, step, place, places, hop);
    moves.before.push_back(hops);
    hops.sent += step.send.any();
    hops.received += step.recv.any();
  }
  moves.before.push_back(hops);
  return moves;
}

Expected expected_output(Collective collective, const Spot& at, int chunk) {
  const uint64_t all = at.n == 64 ? ~uint64_t(0) : (uint64_t(1) << at.n) - 1;
  const auto only = [](int place) { return uint64_t(1) << place; };
  switch (collective) {
    case Collective::kBroadcast:
      return {only(at.root), chunk};
    case Collective::kReduce:
      return at.is_root() ? Expected{all, chunk} : Expected{};
    case Collective::kAllReduce:
      return {all, chunk};
    case Collective::kReduceScatter:
      return chunk == at.place ? Expected{all, chunk} : Expected{};
    case Collective::kAllGather:
      return {only(chunk), chunk};
    case Collective::kAllToAll:
      return {only(chunk), at.place};
    case Collective::kGather:
      return at.is_root() ? Expected{only(chunk), chunk} : Expected{};
    case Collective::kScatter:
      return chunk == at.place ? Expected{only(at.root), chunk} : Expected{};
    case Collective::kSend:
    case Collective::kRecv:
      break;
  }
  return {};
}

Program program_of(PatternId id, int n, int root, int channel) {
  const Collective collective = pattern_collective(id);
  const auto spot = [=](int place) { return Spot{place, n, root, channel}; };
  Program program;
  program.hops = pattern_hops(id, n);
  program.chunks = pattern_chunks(id, n);
  program.reduces = reduces(collective);
  program.segments = collective == Collective::kAllToAll;
  program.step = [=](int place, int hop) { return pattern_step(id, spot(place), hop); };
  program.expected = [=](int place, int chunk) {
    return expected_output(collective, spot(place), chunk);
  };
  return program;
}

}  // namespace weft
