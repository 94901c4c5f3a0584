// Puts the values of a schedule in order, one list a place, and shows that the result is right
// (steps.h). A flow is one queue, so a place takes messages as they come: a value has its turn when
// all that it is made of is in front.
#include "algorithms/schedule/steps.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>

#include "algorithms/schedule/trace.h"
#include "algorithms/select.h"
#include "algorithms/simulate.h"
#include "error.h"
#include "hash.h"

namespace weft {
namespace {

constexpr int kMessagesOfABlock = 4;  // that a flow between two blocks holds
constexpr int kSlots = 4;             // of a flow of the engine (geometry.cc)

[[noreturn]] void refuse(const Schedule& schedule, const std::string& why) {
  fail(ncclInvalidUsage, "schedule {}: this library cannot carry it out: {}", schedule.name, why);
}

// The order in which each place makes its values.
class Order {
 public:
  Order(const ScheduleGraph& graph, int places)
      : graph_(graph),
        after_(graph.values.size()),
        missing_(graph.values.size()),
        level_(graph.values.size()),
        ready_(size_t(places)),
        order_(size_t(places)) {
    for (const ScheduleMessage& message : graph.messages) put_after(message.from, message.to);
    keep_inputs();
  }

  // Empty: values wait for each other.
  std::vector<std::vector<int>> go() {
    find_levels();
    for (bool moved = true; moved;) {
      std::vector<int> round;
      for (size_t place = 0; place < ready_.size(); ++place) take(place, round);
      for (const int value : round) finish(value);
      moved = !round.empty();
      done_ += round.size();
    }
    if (done_ < graph_.values.size()) order_.clear();
    return std::move(order_);
  }

 private:
  void put_after(int first, int then) {
    after_[size_t(first)].push_back(then);
    ++missing_[size_t(then)];
  }

  // In place, what keeps an output chunk overwrites the input chunk: after all who read it.
  void keep_inputs() {
    std::map<std::pair<int, int>, int> keepers;  // by place and chunk
    for (size_t v = 0; v < graph_.values.size(); ++v)
      if (graph_.values[v].kept_as >= 0)
        keepers[{graph_.values[v].place, graph_.values[v].kept_as}] = int(v);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const auto keeper = keepers.find({graph_.values[v].place, graph_.values[v].sum.own});
      if (keeper != keepers.end() && keeper->second != int(v)) put_after(int(v), keeper->second);
    }
  }

  // Those with nothing before them have level 0. What is in a circle is never ready.
  void find_levels() {
    std::vector<int> missing = missing_;
    std::deque<int> next;
    for (size_t v = 0; v < missing.size(); ++v)
      if (missing[v] == 0) next.push_back(int(v));
    for (; !next.empty(); next.pop_front()) {
      const int value = next.front();
      if (missing_[size_t(value)] == 0) make_ready(value);
      for (const int then : after_[size_t(value)]) {
        level_[size_t(then)] = std::max(level_[size_t(then)], level_[size_t(value)] + 1);
        if (--missing[size_t(then)] == 0) next.push_back(then);
      }
    }
  }

  void make_ready(int value) {
    ready_[size_t(graph_.values[size_t(value)].place)].insert({level_[size_t(value)], value});
  }

  // The first of a place's values that can be made, if any.
  void take(size_t place, std::vector<int>& round) {
    const auto at = std::find_if(ready_[place].begin(), ready_[place].end(),
                                 [&](const auto& entry) { return in_front(entry.second); });
    if (at == ready_[place].end()) return;
    round.push_back(at->second);
    order_[place].push_back(at->second);
    ready_[place].erase(at);
  }

  std::deque<int>& flow_of(int message) {
    const ScheduleMessage& m = graph_.messages[size_t(message)];
    return flows_[{graph_.values[size_t(m.from)].place, m.to_place}];
  }
  bool in_front(int value) {
    const auto& messages = graph_.values[size_t(value)].sum.messages;
    return std::all_of(messages.begin(), messages.end(),
                       [&](int message) { return flow_of(message).front() == message; });
  }

  void finish(int value) {
    for (const int message : graph_.values[size_t(value)].sum.messages)
      flow_of(message).pop_front();
    for (const int message : graph_.values[size_t(value)].sent) flow_of(message).push_back(message);
    for (const int then : after_[size_t(value)])
      if (--missing_[size_t(then)] == 0) make_ready(then);
  }

  const ScheduleGraph& graph_;
  std::vector<std::vector<int>> after_;  // values that come later, by value
  std::vector<int> missing_, level_;     // values that come before and are not made; the longest
                                         // chain of them
  std::vector<std::set<std::pair<int, int>>> ready_;  // {level, value}, by place
  std::vector<std::vector<int>> order_;
  std::map<std::pair<int, int>, std::deque<int>> flows_;  // messages on their way
  size_t done_ = 0;
};

// The steps of one schedule's values.
class Steps {
 public:
  explicit Steps(const Schedule& schedule) : s_(schedule), graph_(trace_schedule(schedule)) {
    const auto order = Order(graph_, places()).go();
    if (order.empty()) refuse(s_, "messages of two gpus would pass each other");
    for (const std::vector<int>& values : order) {
      std::vector<Step> steps;
      for (const int value : values) add(steps, graph_.values[size_t(value)]);
      steps_.push_back(std::move(steps));
    }
  }

  std::vector<std::vector<Step>> all() const { return steps_; }
  bool in_rank_order() const { return in_rank_order_; }

 private:
  int places() const { return int(s_.places.size()); }

  void add(std::vector<Step>& steps, const ScheduleValue& value) {
    std::vector<int> targets, sources;
    for (const int m : value.sent) targets.push_back(graph_.messages[size_t(m)].to_place);
    for (const int m : value.sum.messages)
      sources.push_back(graph_.values[size_t(graph_.messages[size_t(m)].from)].place);
    Step step;
    step.recv = peers(value.place, sources);
    step.read_input = value.sum.own >= 0;
    step.chunk = step.read_input ? value.sum.own : value.sum.chunk;
    step.finish = reduces(s_.collective) && is_whole(value) && parts(value) > 1;
    if (parts(value) > 1) in_rank_order_ &= step.finish && is_one_fold(value);
    // An own chunk can be read again.
    while (sources.empty() && targets.size() > Peers::kMost && !is_all_but_one(targets)) {
      step.send = peers(value.place, {targets.end() - Peers::kMost, targets.end()});
      targets.resize(targets.size() - Peers::kMost);
      steps.push_back(step);
    }
    step.send = peers(value.place, targets);
    step.write_output = value.kept_as >= 0;
    if (step.write_output) step.chunk = value.kept_as;
    steps.push_back(step);
  }

  static size_t parts(const ScheduleValue& value) {
    return value.sum.messages.size() + (value.sum.own >= 0 ? 1 : 0);
  }
  bool is_whole(const ScheduleValue& value) const {
    return value.contributions == ~uint64_t(0) >> (64 - places());
  }
  bool is_one_fold(const ScheduleValue& value) const { return parts(value) == size_t(places()); }
  bool is_all_but_one(const std::vector<int>& list) const {
    return std::set<int>(list.begin(), list.end()).size() == list.size() &&
           int(list.size()) >= places() - 2;
  }

  Peers peers(int self, const std::vector<int>& list) const {
    if (int(list.size()) == places() - 1 && is_all_but_one(list)) return Peers::others();
    if (list.size() <= Peers::kMost) {
      Peers few;
      for (const int place : list) few.add(place);
      return few;
    }
    if (!is_all_but_one(list))
      refuse(s_, fmt::format("gpu {} has a value for, or of, {} others, which is neither few nor "
                             "all",
                             self, list.size()));
    int absent = 0;
    while (absent == self || std::find(list.begin(), list.end(), absent) != list.end()) ++absent;
    return Peers::others_but(absent);
  }

  const Schedule& s_;
  const ScheduleGraph graph_;
  std::vector<std::vector<Step>> steps_;
  bool in_rank_order_ = true;
};

Program program_of(const ScheduleSteps& steps) {
  Program program;
  program.hops = steps.hops;
  program.chunks = steps.chunks;
  program.reduces = reduces(steps.collective);
  program.segments = steps.collective == Collective::kAllToAll;
  program.step = [&](int place, int hop) { return steps.steps[size_t(place)][size_t(hop)]; };
  program.expected = [&](int place, int chunk) {
    return expected_output(steps.collective, {place, steps.places(), 0}, chunk);
  };
  return program;
}

// What is wrong when a flow holds `flow_chunks` whole chunks; also with short and empty ones.
std::string wrong_with(const ScheduleSteps& steps, int flow_chunks) {
  const int most = kSlots / flow_chunks;
  Simulation simulation;
  simulation.places = steps.places();
  simulation.programs = {program_of(steps)};
  simulation.loops = 3;
  simulation.fifo_slots = kSlots;
  for (const bool even : {true, false}) {
    simulation.slices_per_chunk = most;
    // Parts of a buffer that has one for each rank are equally long.
    const bool alike = steps.collective != Collective::kAllReduce;
    if (!even)
      simulation.slices = [=](int loop, int chunk) {
        return (alike ? loop : loop + chunk) % (most + 1);
      };
    const std::string error = simulate(simulation).error;
    if (!error.empty()) return error;
  }
  return "";
}

Protocol protocol_of(const Schedule& schedule) {
  for (int p = 0; p < kProtocolCount; ++p)
    if (schedule.protocol == protocol_name(Protocol(p)) && is_offered(Protocol(p), true))
      return Protocol(p);
  refuse(schedule, fmt::format("there is no protocol \"{}\" here", schedule.protocol));
}

}  // namespace

ScheduleSteps steps_of(const Schedule& schedule) {
  const int places = int(schedule.places.size());
  if (places < 2) refuse(schedule, "it is of one gpu");
  if (schedule.collective != Collective::kAllReduce && schedule.chunks != places)
    refuse(schedule, "nchunksperloop is not ngpus");
  ScheduleSteps result;
  result.name = schedule.name;
  result.collective = schedule.collective;
  result.protocol = protocol_of(schedule);
  result.chunks = schedule.chunks;
  const Steps steps(schedule);
  result.in_rank_order = steps.in_rank_order();
  result.steps = steps.all();
  for (const auto& list : result.steps) result.hops = std::max(result.hops, int(list.size()));
  for (auto& list : result.steps) list.resize(size_t(result.hops));
  // Like a pattern if it gets by with that, else with the shortest slices.
  std::string error;
  for (const int flow_chunks : {2, kSlots}) {
    result.flow_chunks = flow_chunks;
    error = wrong_with(result, flow_chunks);
    if (error.empty()) return result;
  }
  refuse(schedule, error);
}

ScheduleSteps load_schedule(std::string_view xml) {
  const Schedule schedule = read_schedule(xml);
  const std::string error = check_schedule(schedule, kMessagesOfABlock);
  if (!error.empty()) fail(ncclInvalidUsage, "schedule {}: {}", schedule.name, error);
  ScheduleSteps steps = steps_of(schedule);
  steps.id = hash_text(xml);
  return steps;
}

}  // namespace weft
