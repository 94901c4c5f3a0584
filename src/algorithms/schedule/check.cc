// Runs a schedule with marks instead of data (schedule.h). Blocks run until they wait; as each is
// deterministic and waits for one thing at a time, the order of turns does not change what they
// find, provided that no two of them touch a chunk at the same time. That is shown by clocks: what
// each block knows of how far the others are, learned from messages and dependencies.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "algorithms/schedule/memory.h"

namespace weft {
namespace {

using VectorClock =
    std::vector<uint32_t>;  // by block of all places: steps that are known to be done

// What stands for the data of a chunk: chunk `chunk` of the inputs of a set of places.
struct ChunkMark {
  uint64_t contributions = 0;  // none: nothing was ever written
  int chunk = 0;
};

struct MarkedMessage {
  std::vector<ChunkMark> marks;
  VectorClock clock;
};

// A chunk in memory, and who touched it last, by block.
struct Cell {
  ChunkMark mark;
  int writer = -1;
  uint32_t written_at = 0;
  std::map<int, uint32_t> read_at;
};

struct Runner {  // a block at work
  int place, index;
  const ScheduleBlock* block;
  size_t next = 0;
  std::map<int, VectorClock> after;  // its clock after the steps that others depend on
};

class Check {
 public:
  Check(const Schedule& schedule, int slots, bool in_place)
      : s_(schedule),
        slots_(slots),
        in_place_(in_place),
        memory_(schedule, in_place),
        cells_(schedule.places.size()) {
    for (int place = 0; place < int(s_.places.size()); ++place) {
      first_.push_back(int(runners_.size()));
      const SchedulePlace& p = s_.places[size_t(place)];
      for (int i = 0; i < int(p.blocks.size()); ++i)
        runners_.push_back({place, i, &p.blocks[size_t(i)], 0, {}});
      fill(place);
    }
    clocks_.assign(runners_.size(), VectorClock(runners_.size()));
    for (const Runner& r : runners_)
      for (const ScheduleStep& step : r.block->steps)
        if (step.after_block >= 0) runner_of(r, step).after[step.after_step] = {};
  }

  std::string go() {
    for (bool moved = true; moved && error_.empty();) {
      moved = false;
      for (int r = 0; r < int(runners_.size()); ++r)
        while (error_.empty() && can_run(r)) {
          run(r);
          moved = true;
        }
    }
    if (error_.empty()) check_end();
    return error_;
  }

 private:
  using FlowKey = std::tuple<int, int, int>;  // from, to, channel

  Cell& cell(int place, const ScheduleRange& range, int i) {
    return cells_[size_t(place)][memory_.cell(place, range.buffer, range.first + i)];
  }

  void fill(int place) {
    auto& cells = cells_[size_t(place)];
    cells.resize(memory_.cells(place));
    for (const auto& [chunk, number] : memory_.inputs(place))
      cells[memory_.cell(place, ScheduleBuffer::kInput, chunk)].mark = {uint64_t(1) << place,
                                                                        number};
  }

  std::deque<MarkedMessage>& incoming(const Runner& r) {
    return flows_[{r.block->receive_from, r.place, r.block->channel}];
  }
  std::deque<MarkedMessage>& outgoing(const Runner& r) {
    return flows_[{r.place, r.block->send_to, r.block->channel}];
  }

  // What its next step waits for; empty: nothing.
  const char* wait_of(const Runner& r) {
    const ScheduleStep& step = r.block->steps[r.next];
    if (step.after_block >= 0 && runner_of(r, step).next <= size_t(step.after_step))
      return "another tb";
    if (step.receives && incoming(r).empty()) return "a message";
    if (step.sends && outgoing(r).size() >= size_t(slots_)) return "room for a message";
    return "";
  }
  bool can_run(int index) {
    const Runner& r = runners_[size_t(index)];
    return r.next < r.block->steps.size() && *wait_of(r) == '\0';
  }
  Runner& runner_of(const Runner& r, const ScheduleStep& step) {
    return runners_[size_t(first_[size_t(r.place)] + step.after_block)];
  }

  void run(int index) {
    Runner& r = runners_[size_t(index)];
    const ScheduleStep& step = r.block->steps[r.next];
    VectorClock& mine = clocks_[size_t(index)];
    if (step.after_block >= 0) learn(mine, runner_of(r, step).after.at(step.after_step));
    ++mine[size_t(index)];
    std::vector<ChunkMark> marks;
    if (step.receives) marks = receive(r, step, mine);
    for (int i = 0; i < step.count && error_.empty(); ++i) {
      if (step.reads) join(r, marks, i, touch(index, step.source, i, false).mark);
      if (step.adds_to_target) join(r, marks, i, touch(index, step.target, i, false).mark);
      if (step.writes && error_.empty()) touch(index, step.target, i, true).mark = marks[size_t(i)];
    }
    if (step.sends) outgoing(r).push_back({marks, mine});
    if (const auto wanted = r.after.find(int(r.next)); wanted != r.after.end())
      wanted->second = mine;
    ++r.next;
  }

  static void learn(VectorClock& mine, const VectorClock& other) {
    for (size_t i = 0; i < mine.size(); ++i) mine[i] = std::max(mine[i], other[i]);
  }

  std::vector<ChunkMark> receive(const Runner& r, const ScheduleStep& step, VectorClock& mine) {
    MarkedMessage message = std::move(incoming(r).front());
    incoming(r).pop_front();
    learn(mine, message.clock);
    if (int(message.marks.size()) != step.count)
      wrong(r, fmt::format("receives {} chunks, expects {}", message.marks.size(), step.count));
    return std::move(message.marks);
  }

  // Adds to marks[i], or makes it.
  void join(const Runner& r, std::vector<ChunkMark>& marks, int i, const ChunkMark& mark) {
    if (mark.contributions == 0) return wrong(r, "reads a chunk that holds nothing yet");
    if (marks.size() == size_t(i)) return marks.push_back(mark);
    ChunkMark& sum = marks[size_t(i)];
    if (sum.contributions & mark.contributions) wrong(r, "takes a contribution twice");
    if (sum.chunk != mark.chunk)
      wrong(r, fmt::format("reduces chunks {} and {}", sum.chunk, mark.chunk));
    sum.contributions |= mark.contributions;
  }

  // A chunk may be read when its last writer is known to be done, and written when all who touched
  // it are.
  Cell& touch(int index, const ScheduleRange& range, int i, bool write) {
    const Runner& r = runners_[size_t(index)];
    const VectorClock& mine = clocks_[size_t(index)];
    Cell& cell = this->cell(r.place, range, i);
    if (cell.writer >= 0 && mine[size_t(cell.writer)] < cell.written_at)
      race(r, range, i, cell.writer, "written");
    if (write && !in_place_ && range.buffer == ScheduleBuffer::kInput)
      wrong(r, "writes the input, which is not the output");
    if (!write) {
      cell.read_at[index] = mine[size_t(index)];
      return cell;
    }
    for (const auto& [reader, at] : cell.read_at)
      if (mine[size_t(reader)] < at) race(r, range, i, reader, "read");
    cell.read_at.clear();
    cell.writer = index;
    cell.written_at = mine[size_t(index)];
    return cell;
  }

  void race(const Runner& r, const ScheduleRange& range, int i, int other, const char* what) {
    constexpr char kNames[] = "ios";
    wrong(r,
          fmt::format("touches {}[{}], which tb {} may not have {} yet", kNames[int(range.buffer)],
                      range.first + i, runners_[size_t(other)].index, what));
  }

  // By the number of the chunk.
  ChunkMark expected(int place, int chunk) const {
    const size_t n = s_.places.size();
    const uint64_t all = n == 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1;
    const int segment = std::max(memory_.segment(), 1);
    const int within = chunk % segment, owner = chunk / segment;
    switch (s_.collective) {
      case Collective::kAllGather:
        return {uint64_t(1) << owner, chunk};
      case Collective::kReduceScatter:
        return {all, chunk};
      case Collective::kAllToAll:
        return {uint64_t(1) << owner, place * segment + within};
      default:
        return {all, chunk};
    }
  }

  void check_end() {
    for (const Runner& r : runners_)
      if (r.next < r.block->steps.size())
        return wrong(r, fmt::format("deadlock: waits for {}", wait_of(r)));
    for (const auto& [ends, messages] : flows_)
      if (!messages.empty()) {
        error_ = fmt::format("gpu {} sends gpu {} a message on chan {} that it does not take",
                             std::get<0>(ends), std::get<1>(ends), std::get<2>(ends));
        return;
      }
    for (int place = 0; place < int(s_.places.size()); ++place)
      for (const auto& [chunk, number] : memory_.outputs(place)) check_output(place, chunk, number);
  }

  void check_output(int place, int chunk, int number) {
    const ChunkMark found = cell(place, {ScheduleBuffer::kOutput, chunk}, 0).mark;
    const ChunkMark right = expected(place, number);
    if (found.contributions == right.contributions && found.chunk == right.chunk) return;
    if (error_.empty())
      error_ = fmt::format(
          "gpu {}: output chunk {} holds chunk {} of gpus {:#x}, expected chunk {} of {:#x}", place,
          chunk, found.chunk, found.contributions, right.chunk, right.contributions);
  }

  void wrong(const Runner& r, const std::string& what) {
    if (error_.empty())
      error_ = fmt::format("gpu {} tb {} step {}: {}", r.place, r.index, r.next, what);
  }

  const Schedule& s_;
  int slots_;
  bool in_place_;
  const ScheduleMemory memory_;
  std::vector<int> first_;  // by place: its first runner
  std::vector<Runner> runners_;
  std::vector<VectorClock> clocks_;
  std::vector<std::vector<Cell>> cells_;  // by place: input, output, scratch
  std::map<FlowKey, std::deque<MarkedMessage>> flows_;
  std::string error_;
};

}  // namespace

std::string check_schedule(const Schedule& schedule, int slots) {
  for (const bool in_place : {true, false}) {
    if (!(in_place ? schedule.in_place : schedule.out_of_place)) continue;
    const std::string error = Check(schedule, slots, in_place).go();
    if (!error.empty()) return fmt::format("{}: {}", in_place ? "in place" : "out of place", error);
  }
  return "";
}

}  // namespace weft
