// Runs a schedule with sums (trace.h). As it was checked, any order of its blocks gives the same.
#include "algorithms/schedule/trace.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>

#include "algorithms/schedule/memory.h"
#include "error.h"

namespace weft {
namespace {

class Trace {
 public:
  explicit Trace(const Schedule& schedule)
      : s_(schedule),
        memory_(schedule, !schedule.out_of_place),
        cells_(schedule.places.size()),
        next_(schedule.places.size()) {
    for (int place = 0; place < places(); ++place) {
      auto& cells = cells_[size_t(place)];
      cells.resize(memory_.cells(place));
      for (const auto& [chunk, number] : memory_.inputs(place))
        cells[memory_.cell(place, ScheduleBuffer::kInput, chunk)] = ScheduleSum{number, {}, number};
      next_[size_t(place)].resize(s_.places[size_t(place)].blocks.size());
    }
  }

  // Every block does a step in turn, so that values come in the order in which they are made.
  ScheduleGraph go() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int place = 0; place < places(); ++place)
        for (size_t b = 0; b < blocks(place).size(); ++b) moved |= turn(place, b);
    }
    for (int place = 0; place < places(); ++place)
      for (const auto& [chunk, number] : memory_.outputs(place))
        graph_.values[size_t(value_of(place, *cell(place, {ScheduleBuffer::kOutput, chunk}, 0)))]
            .kept_as = number;
    for (const ScheduleMessage& message : graph_.messages)
      if (message.to < 0) refuse(message.to_place, "receives what it does not use");
    return std::move(graph_);
  }

 private:
  using FlowKey = std::tuple<int, int, int>;  // from, to, channel

  int places() const { return int(s_.places.size()); }
  const std::vector<ScheduleBlock>& blocks(int place) const {
    return s_.places[size_t(place)].blocks;
  }
  std::optional<ScheduleSum>& cell(int place, const ScheduleRange& range, int i) {
    return cells_[size_t(place)][memory_.cell(place, range.buffer, range.first + i)];
  }

  bool turn(int place, size_t b) {
    const ScheduleBlock& block = blocks(place)[b];
    size_t& next = next_[size_t(place)][b];
    if (next == block.steps.size()) return false;
    const ScheduleStep& step = block.steps[next];
    if (step.after_block >= 0 &&
        next_[size_t(place)][size_t(step.after_block)] <= size_t(step.after_step))
      return false;
    auto& incoming = flows_[{block.receive_from, place, block.channel}];
    if (step.receives && incoming.size() < size_t(step.count)) return false;
    for (int i = 0; i < step.count; ++i) run(place, block, step, i);
    ++next;
    return true;
  }

  // Chunk i of a step.
  void run(int place, const ScheduleBlock& block, const ScheduleStep& step, int i) {
    std::optional<ScheduleSum> sum;
    if (step.receives) {
      auto& incoming = flows_[{block.receive_from, place, block.channel}];
      const int message = incoming.front();
      incoming.pop_front();
      sum = ScheduleSum{-1, {message}, sent_chunk(message)};
    }
    if (step.reads) add(sum, *cell(place, step.source, i));
    if (step.adds_to_target) add(sum, *cell(place, step.target, i));
    if (step.writes) cell(place, step.target, i) = sum;
    if (step.sends) send(place, block, *sum);
  }

  static void add(std::optional<ScheduleSum>& sum, const ScheduleSum& more) {
    if (!sum) {
      sum = more;
      return;
    }
    if (more.own >= 0) sum->own = more.own;
    sum->messages.insert(sum->messages.end(), more.messages.begin(), more.messages.end());
    std::sort(sum->messages.begin(), sum->messages.end());
  }

  int sent_chunk(int message) const {
    return graph_.values[size_t(graph_.messages[size_t(message)].from)].sum.chunk;
  }

  void send(int place, const ScheduleBlock& block, const ScheduleSum& sum) {
    const int value = value_of(place, sum), message = int(graph_.messages.size());
    graph_.messages.push_back({value, -1, block.send_to});
    graph_.values[size_t(value)].sent.push_back(message);
    flows_[{place, block.send_to, block.channel}].push_back(message);
  }

  // The value of a sum: the one that there is, as a message can be taken once.
  int value_of(int place, const ScheduleSum& sum) {
    const auto [at, is_new] = known_.try_emplace({place, sum}, int(graph_.values.size()));
    if (!is_new) return at->second;
    ScheduleValue value{place, sum, {}, -1, sum.own >= 0 ? uint64_t(1) << place : 0};
    for (const int m : sum.messages) {
      ScheduleMessage& message = graph_.messages[size_t(m)];
      if (message.to >= 0) refuse(place, "sends or keeps a value and adds to it later");
      message.to = at->second;
      value.contributions |= graph_.values[size_t(message.from)].contributions;
    }
    graph_.values.push_back(std::move(value));
    return at->second;
  }

  [[noreturn]] void refuse(int place, const char* what) const {
    fail(ncclInvalidUsage, "schedule {}: gpu {} {}: this library cannot carry that out", s_.name,
         place, what);
  }

  const Schedule& s_;
  const ScheduleMemory memory_;
  std::vector<std::vector<std::optional<ScheduleSum>>> cells_;  // by place
  std::vector<std::vector<size_t>> next_;                       // step, by place and block
  std::map<FlowKey, std::deque<int>> flows_;                    // messages
  std::map<std::pair<int, ScheduleSum>, int> known_;
  ScheduleGraph graph_;
};

}  // namespace

ScheduleGraph trace_schedule(const Schedule& schedule) { return Trace(schedule).go(); }

}  // namespace weft
