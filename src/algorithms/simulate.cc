// The simulator of patterns (simulate.h). Each place runs its moves slice by slice, as a block of
// the engine does; a move can run when all it receives has come and all it sends has a free slot.
// Places take turns in a random order. With credits the order cannot matter (each place is
// deterministic and waits for one thing at a time); without, what is sure in every order is
// followed by clocks: what a place knows of how far the others are.
#include "algorithms/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

namespace weft {
namespace {

constexpr size_t kExchangeSlots = 2;

using VectorClock = std::vector<uint32_t>;  // by place: moves that are known to be done

// What stands for the data of one slice.
struct SliceMark {
  uint64_t contributions = 0;
  int input_chunk = 0;
  bool finished = false;
  int64_t path = 0;  // messages it took to get here
};

struct SliceMessage {
  SliceMark mark;
  int loop = 0, chunk = 0, slice = 0;
  int64_t number = 0;  // of an exchange: its place in the sender's count
  std::shared_ptr<const VectorClock> clock;
};

struct Flow {
  std::vector<SliceMessage> sent;
  std::array<int64_t, kExchangeSlots> in_slot{-1, -1};  // index in `sent`
  size_t taken = 0;
  std::vector<uint32_t> taken_at;  // by message: the receiver's move that took it

  size_t waiting() const { return sent.size() - taken; }
};

class Run {
 public:
  explicit Run(const Simulation& s)
      : s_(s), flows_(size_t(s.places) * s.places), at_(s.places), random_(s.seed) {
    if (s.exchange) clocks_.assign(s.places, VectorClock(s.places));
  }

  SimulationResult go() {
    prepare();
    std::vector<int> order(s_.places);
    std::iota(order.begin(), order.end(), 0);
    for (bool moved = true; moved && right();) {
      std::shuffle(order.begin(), order.end(), random_);
      moved = false;
      for (int place : order) moved |= right() && turn(place);
    }
    if (right()) check_end();
    return result_;
  }

 private:
  struct Position {
    int loop = 0;
    size_t move = 0;
    int slice = 0;
    int64_t sent = 0, received = 0;  // hops of the loops before
  };
  bool right() const { return result_.error.empty(); }
  int loops() const { return s_.loops * int(s_.programs.size()); }
  size_t index(int loop) const { return size_t(loop / s_.loops); }
  const Program& program(int loop) const { return s_.programs[index(loop)]; }
  const std::vector<SubStep>& moves(int place, int loop) const {
    return moves_[index(loop)][place].all;
  }
  Hops before(int place, int loop, int hop) const { return moves_[index(loop)][place].before[hop]; }
  int slices(int loop, int chunk) const { return slices_[first_chunk_[loop] + size_t(chunk)]; }
  Flow& flow(int from, int to) { return flows_[size_t(from) * s_.places + to]; }
  // Slices written of an output chunk.
  int& written(int place, int loop, int chunk) {
    return written_[place][first_chunk_[loop] + size_t(chunk)];
  }
  bool done(int place) const { return at_[place].loop == loops(); }

  void prepare() {
    for (const Program& program : s_.programs) {
      std::vector<Moves> places;
      for (int place = 0; place < s_.places; ++place) {
        places.push_back(moves_of(program, place, s_.places));
        if (right()) result_.error = places.back().error;
      }
      moves_.push_back(std::move(places));
    }
    size_t chunks = 0;
    for (int loop = 0; loop < loops(); ++loop) {
      first_chunk_.push_back(chunks);
      chunks += size_t(program(loop).chunks);
      for (int chunk = 0; chunk < program(loop).chunks; ++chunk)
        slices_.push_back(s_.slices ? s_.slices(loop, chunk) : s_.slices_per_chunk);
    }
    written_.assign(s_.places, std::vector<int>(chunks));
  }

  // Runs the next slice of `place` if it can.
  bool turn(int place) {
    Position& at = at_[place];
    skip(place);
    if (done(place) || !waits_for(place).none()) return false;
    run(place, at, moves(place, at.loop)[at.move]);
    ++at.slice;
    skip(place);
    return true;
  }

  // Over what is done, and over moves of empty chunks.
  void skip(int place) {
    Position& at = at_[place];
    while (!done(place)) {
      const auto& all = moves(place, at.loop);
      if (at.move == all.size()) {
        const Hops hops = moves_[index(at.loop)][place].before.back();
        at = {at.loop + 1, 0, 0, at.sent + hops.sent, at.received + hops.received};
      } else if (at.slice >= slices(at.loop, all[at.move].chunk)) {
        ++at.move;
        at.slice = 0;
      } else {
        return;
      }
    }
  }

  // What the next move of `place` waits for.
  struct Wait {
    int data_from = -1, room_at = -1;
    bool none() const { return data_from < 0 && room_at < 0; }
  };
  Wait waits_for(int place) {
    const SubStep& move = moves(place, at_[place].loop)[at_[place].move];
    for (int from : move.recv)
      if (flow(from, place).waiting() == 0) return {.data_from = from};
    if (s_.exchange) return {};
    for (int to : move.send)
      if (flow(place, to).waiting() >= size_t(s_.fifo_slots)) return {.room_at = to};
    return {};
  }

  void run(int place, const Position& at, const SubStep& move) {
    std::optional<SliceMark> mark;
    if (move.read_input) mark = read(place, at, move.chunk);
    if (s_.exchange) ++clocks_[place][place];
    for (int from : move.recv) {
      const SliceMessage message = take(from, place);
      const int64_t number = at.received + before(place, at.loop, move.hop).received;
      if (s_.exchange && message.number != number)
        return wrong(place, at,
                     fmt::format("looks for slice {} of place {}, which sends it as {}", number,
                                 from, message.number));
      const bool same_chunk = program(at.loop).segments || message.chunk == move.chunk;
      if (message.loop != at.loop || !same_chunk || message.slice != at.slice)
        return wrong(place, at,
                     fmt::format("received chunk {} of loop {} slice {}, expected chunk {}",
                                 message.chunk, message.loop, message.slice, move.chunk));
      mark = mark ? join(place, at, *mark, message.mark) : message.mark;
    }
    if (!mark) return wrong(place, at, "a step with nothing to take");
    if (move.finish) finish(place, at, move, *mark);
    if (!move.write_output && move.send.empty() && s_.places > 1)
      return wrong(place, at, "takes something and gives it to nobody");
    if (move.write_output) write(place, at, move.chunk, *mark);
    if (!move.send.empty()) send(place, at, move, *mark);
  }

  SliceMark read(int place, const Position& at, int chunk) {
    if (written(place, at.loop, chunk) > at.slice)
      wrong(place, at, fmt::format("reads input chunk {}, overwritten in place", chunk));
    return {uint64_t(1) << place, chunk, false, 0};
  }

  SliceMessage take(int from, int place) {
    Flow& flow = this->flow(from, place);
    SliceMessage message = flow.sent[flow.taken++];
    if (s_.exchange) {
      VectorClock& mine = clocks_[place];
      flow.taken_at.push_back(mine[place]);
      for (int p = 0; p < s_.places; ++p) mine[p] = std::max(mine[p], (*message.clock)[p]);
    }
    return message;
  }

  SliceMark join(int place, const Position& at, SliceMark a, const SliceMark& b) {
    if (!program(at.loop).reduces) wrong(place, at, "reduces");
    if (a.contributions & b.contributions) wrong(place, at, "a contribution was taken twice");
    if (a.finished || b.finished) wrong(place, at, "reduced something that was finished");
    if (a.input_chunk != b.input_chunk) wrong(place, at, "reduced different chunks");
    a.contributions |= b.contributions;
    a.path = std::max(a.path, b.path);
    return a;
  }

  void finish(int place, const Position& at, const SubStep& move, SliceMark& mark) {
    if (s_.places > 1 && move.recv.size() + move.read_input < 2)
      wrong(place, at, "finishes without reducing");
    if (mark.finished) wrong(place, at, "finished twice");
    mark.finished = true;
  }

  void write(int place, const Position& at, int chunk, const SliceMark& mark) {
    const Expected expected = program(at.loop).expected(place, chunk);
    int& count = written(place, at.loop, chunk);
    if (count != at.slice)
      return wrong(place, at,
                   fmt::format("slice {} of output chunk {} is written now", count, chunk));
    ++count;
    if (mark.contributions != expected.contributions || mark.input_chunk != expected.input_chunk ||
        mark.finished != program(at.loop).reduces)
      wrong(
          place, at,
          fmt::format("output chunk {} gets chunk {} of {:#x}{}, expected chunk {} of {:#x}", chunk,
                      mark.input_chunk, mark.contributions, mark.finished ? " finished" : "",
                      expected.input_chunk, expected.contributions));
  }

  void send(int place, const Position& at, const SubStep& move, SliceMark mark) {
    const int64_t number = at.sent + before(place, at.loop, move.hop).sent;
    SliceMessage message{mark, at.loop, move.chunk, at.slice, number, nullptr};
    ++message.mark.path;
    result_.longest_path = std::max(result_.longest_path, message.mark.path);
    if (s_.exchange) message.clock = std::make_shared<VectorClock>(clocks_[place]);
    for (int to : move.send) {
      Flow& flow = this->flow(place, to);
      if (s_.exchange) overwrite(place, at, to, number);
      flow.sent.push_back(message);
      ++result_.messages;
      result_.most_waiting = std::max(result_.most_waiting, int64_t(flow.waiting()));
    }
  }

  // What the next slice overwrites must be known, here, to have been taken.
  void overwrite(int place, const Position& at, int to, int64_t number) {
    Flow& flow = this->flow(place, to);
    int64_t& slot = flow.in_slot[size_t(number) % kExchangeSlots];
    const int64_t old = std::exchange(slot, int64_t(flow.sent.size()));
    if (old < 0) return;
    if (size_t(old) >= flow.taken || clocks_[place][to] < flow.taken_at[size_t(old)])
      wrong(place, at,
            fmt::format("overwrites slice {} of its flow to {}, which may not be taken",
                        flow.sent[size_t(old)].number, to));
  }

  void check_end() {
    for (int p = 0; p < s_.places; ++p)
      if (!done(p)) return deadlock(p, waits_for(p));
    for (int from = 0; from < s_.places; ++from)
      for (int to = 0; to < s_.places; ++to)
        if (flow(from, to).waiting() != 0)
          return wrong(from, at_[from], fmt::format("place {} does not take a message", to));
    for (int p = 0; p < s_.places; ++p)
      for (int loop = 0; loop < loops(); ++loop)
        for (int chunk = 0; chunk < program(loop).chunks; ++chunk) check_output(p, loop, chunk);
  }

  void deadlock(int place, const Wait& wait) {
    const bool data = wait.data_from >= 0;
    wrong(place, at_[place],
          fmt::format("deadlock: waits for {} {}", data ? "data from" : "room at",
                      data ? wait.data_from : wait.room_at));
  }

  void check_output(int place, int loop, int chunk) {
    const bool wanted = program(loop).expected(place, chunk).contributions != 0;
    const int count = written(place, loop, chunk);
    if (count != (wanted ? slices(loop, chunk) : 0))
      wrong(place, {.loop = loop}, fmt::format("{} slices of chunk {} were written", count, chunk));
  }

  void wrong(int place, const Position& at, const std::string& what) {
    if (!right()) return;
    const bool in_move = at.loop < loops() && at.move < moves(place, at.loop).size();
    result_.error =
        fmt::format("place {} of {}, loop {}, hop {}, slice {}: {}", place, s_.places, at.loop,
                    in_move ? moves(place, at.loop)[at.move].hop : -1, at.slice, what);
  }

  const Simulation& s_;
  std::vector<std::vector<Moves>> moves_;  // by program and place
  std::vector<Flow> flows_;
  std::vector<int> slices_;                // by loop and chunk
  std::vector<size_t> first_chunk_;        // by loop, in slices_ and written_
  std::vector<std::vector<int>> written_;  // by place
  std::vector<Position> at_;
  std::vector<VectorClock> clocks_;
  std::mt19937_64 random_;
  SimulationResult result_;
};

}  // namespace

SimulationResult simulate(const Simulation& simulation) { return Run(simulation).go(); }

}  // namespace weft
