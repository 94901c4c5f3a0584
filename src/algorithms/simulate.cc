// The simulator of patterns (simulate.h). Each place runs its steps slice by slice, as a block of
// the engine does; a step can run when all it receives has come and all it sends has a free slot.
// Places take turns in a random order.
#include "algorithms/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace weft {
namespace {

// What stands for the data of one slice.
struct Mark {
  uint64_t contributions = 0;
  bool finished = false;
  int loop = 0, chunk = 0, slice = 0;
  int64_t path = 0;  // messages it took to get here
};

using Outputs = std::map<std::pair<int, int>,
                         std::vector<Mark>>;  // by (loop, chunk): one mark per slice written

class Run {
 public:
  explicit Run(const Simulation& s)
      : s_(s),
        links_(size_t(s.places) * s.places),
        outputs_(s.places),
        at_(s.places),
        random_(s.seed) {}

  SimulationResult go() {
    std::vector<int> order(s_.places);
    for (int p = 0; p < s_.places; ++p) order[p] = p;
    for (bool moved = true; moved && result_.error.empty();) {
      std::shuffle(order.begin(), order.end(), random_);
      moved = false;
      for (int place : order) moved |= turn(place);
    }
    if (result_.error.empty()) check_end();
    return result_;
  }

 private:
  struct Position {
    int loop = 0, hop = 0, slice = 0;
  };

  std::deque<Mark>& link(int from, int to) { return links_[size_t(from) * s_.places + to]; }

  bool done(int place) const { return at_[place].loop == s_.loops; }

  // Runs the next slice of `place` if it can; a random number of turns later it may run more.
  bool turn(int place) {
    if (done(place)) return false;
    const Position at = at_[place];
    const Step step = s_.step(place, at.hop);
    if (step.recv.any() && link(step.recv.place, place).empty()) return false;
    if (step.send.any() && int(link(place, step.send.place).size()) >= s_.fifo_slots) return false;
    run(place, at, step);
    advance(place);
    return true;
  }

  void run(int place, const Position& at, const Step& step) {
    std::optional<Mark> mark;
    if (step.read_input) mark = Mark{uint64_t(1) << place, false, at.loop, step.chunk, at.slice, 0};
    if (step.recv.any()) {
      const Mark got = link(step.recv.place, place).front();
      link(step.recv.place, place).pop_front();
      if (got.loop != at.loop || got.chunk != step.chunk || got.slice != at.slice)
        return wrong(place, at,
                     fmt::format("received chunk {} of loop {} slice {}, expected chunk {}",
                                 got.chunk, got.loop, got.slice, step.chunk));
      mark = mark ? join(place, at, *mark, got) : got;
    }
    if (!mark) return wrong(place, at, "a step with nothing to take");
    if (step.finish && s_.places > 1 && !(step.recv.any() && step.read_input))
      return wrong(place, at, "finishes without reducing");
    if (step.finish && mark->finished) return wrong(place, at, "finished twice");
    mark->finished |= step.finish;
    if (step.write_output) outputs_[place][{at.loop, step.chunk}].push_back(*mark);
    if (!step.send.any()) return;
    ++mark->path;
    link(place, step.send.place).push_back(*mark);
    ++result_.messages;
    result_.longest_path = std::max(result_.longest_path, mark->path);
  }

  Mark join(int place, const Position& at, Mark a, const Mark& b) {
    if (a.contributions & b.contributions) wrong(place, at, "a contribution was taken twice");
    if (a.finished || b.finished) wrong(place, at, "reduced something that was finished");
    a.contributions |= b.contributions;
    a.path = std::max(a.path, b.path);
    return a;
  }

  void advance(int place) {
    Position& at = at_[place];
    if (++at.slice < s_.slices_per_chunk) return;
    at.slice = 0;
    if (++at.hop < s_.hops) return;
    at.hop = 0;
    ++at.loop;
  }

  void check_end() {
    for (int p = 0; p < s_.places; ++p)
      if (!done(p)) return wrong(p, at_[p], "deadlock: waits for ever");
    for (const auto& link : links_)
      if (!link.empty()) return wrong(0, at_[0], "a message was sent and never received");
    for (int p = 0; p < s_.places; ++p)
      for (int loop = 0; loop < s_.loops; ++loop)
        for (int chunk = 0; chunk < s_.places; ++chunk) check_output(p, loop, chunk);
  }

  void check_output(int place, int loop, int chunk) {
    const uint64_t expected = s_.expected(place, chunk);
    const auto& marks = outputs_[place][{loop, chunk}];
    const Position at{loop, s_.hops, 0};
    if (marks.size() != (expected != 0 ? size_t(s_.slices_per_chunk) : 0))
      return wrong(place, at, fmt::format("chunk {} was written {} times", chunk, marks.size()));
    for (size_t slice = 0; slice < marks.size(); ++slice)
      if (marks[slice].contributions != expected || !marks[slice].finished ||
          marks[slice].slice != int(slice))
        wrong(place, at,
              fmt::format("chunk {} slice {} holds {:#x}, expected {:#x}", chunk, slice,
                          marks[slice].contributions, expected));
  }

  void wrong(int place, const Position& at, const std::string& what) {
    if (result_.error.empty())
      result_.error = fmt::format("place {} of {}, loop {}, hop {}, slice {}: {}", place, s_.places,
                                  at.loop, at.hop, at.slice, what);
  }

  const Simulation& s_;
  std::vector<std::deque<Mark>> links_;
  std::vector<Outputs> outputs_;
  std::vector<Position> at_;
  std::mt19937_64 random_;
  SimulationResult result_;
};

}  // namespace

SimulationResult simulate(const Simulation& simulation) { return Run(simulation).go(); }

}  // namespace weft
