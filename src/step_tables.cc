// Tables of steps (step_tables.h).
#include "step_tables.h"

#include <algorithm>

#include "side_stream.h"

namespace weft {
namespace {

constexpr int kFewRanks = 16;  // tables of all roots: some 50 KiB

// Of a step by peer the one that concerns `peer`; this rank itself: the copy of its own chunk.
Step part_of(const Step& step, int peer, int place) {
  const bool sends = step.send.any();
  Step one;
  one.by_peer = true;
  one.chunk = peer;
  if (peer == place) {
    one.read_input = one.write_output = sends && step.write_output;
  } else if (sends && step.send.at(peer, place) >= 0) {
    one.read_input = true;
    one.send = Peers::one(peer);
  } else if (!sends && step.recv.at(peer, place) >= 0) {
    one.write_output = true;
    one.recv = Peers::one(peer);
  }
  return one;
}

bool does_something(const Step& step) {
  return step.recv.any() || step.send.any() || step.read_input;
}

// What a kernel does for a step. By peer: one peer after another, starting with a neighbour so that
// ranks do not all turn to the same one, the own chunk last.
void add_parts(std::vector<Step>& list, const Step& step, int place, int n) {
  const size_t first = list.size();
  for (int turn = 1; turn <= (step.by_peer ? n : 1); ++turn) {
    const int peer = (place + (step.send.any() ? turn : n - turn)) % n;
    const Step part = step.by_peer ? part_of(step, peer, place) : step;
    if (does_something(part)) list.push_back(part);
  }
  if (list.size() == first) return;
  list.back().counts_sent = step.send.any();
  list.back().counts_received = step.recv.any();
}

}  // namespace

StepTables::StepTables(int rank, int ranks) : rank_(rank), ranks_(ranks) {
  std::vector<Key> keys;
  const auto add = [&](int list, Collective collective) {
    const bool all_roots = is_rooted(collective) && ranks <= kFewRanks;
    for (int root = 0; root < (all_roots ? ranks : 1); ++root) keys.push_back({list, root});
  };
  for (int id = 0; id < kPatternCount; ++id) add(id, pattern_collective(PatternId(id)));
  for (int c = 0; c < kCollectiveCount; ++c)
    if (!is_pairwise(Collective(c))) add(kPatternCount + c, Collective(c));
  upload(keys);
}

StepList StepTables::find(const Key& key) {
  if (!tables_.contains(key)) upload({key});
  return tables_.at(key);
}

StepTables::Table StepTables::two_kinds(std::vector<Step> even, std::vector<Step> odd) const {
  const size_t count = std::max(even.size(), odd.size());
  even.resize(count);
  odd.resize(count);
  even.insert(even.end(), odd.begin(), odd.end());
  return {std::move(even), int(count)};
}

StepTables::Table StepTables::mapped_table(Collective collective, int root) const {
  std::vector<Step> steps;
  for (int hop = 0; hop < mapped_hops(collective, ranks_); ++hop)
    add_parts(steps, mapped_step(collective, {rank_, ranks_, root}, hop), rank_, ranks_);
  return {steps, int(steps.size())};
}

StepTables::Table StepTables::table_of(const Key& key) const {
  const auto [list, root] = key;
  if (list >= kPatternCount) return mapped_table(Collective(list - kPatternCount), root);
  std::vector<Step> kinds[2];
  for (int channel : {0, 1})
    for (int hop = 0; hop < pattern_hops(PatternId(list), ranks_); ++hop)
      add_parts(kinds[channel], pattern_step(PatternId(list), {rank_, ranks_, root, channel}, hop),
                rank_, ranks_);
  return two_kinds(kinds[0], kinds[1]);
}

StepList StepTables::find(uint64_t id, const std::vector<Step>& steps) {
  if (const auto found = schedules_.find(id); found != schedules_.end()) return found->second;
  std::vector<Step> list;
  for (const Step& step : steps) add_parts(list, step, rank_, ranks_);
  const Table table = two_kinds(list, list);
  return schedules_[id] = {copy(table.steps), table.count};
}

void StepTables::upload(const std::vector<Key>& keys) {
  std::vector<Step> steps;
  std::vector<size_t> starts;
  for (const Key& key : keys) {
    const Table table = table_of(key);
    starts.push_back(steps.size());
    steps.insert(steps.end(), table.steps.begin(), table.steps.end());
    tables_[key].count = table.count;
  }
  const Step* first = copy(steps);
  for (size_t i = 0; i < keys.size(); ++i) tables_[keys[i]].steps = first + starts[i];
}

const Step* StepTables::copy(const std::vector<Step>& steps) {
  const size_t bytes = steps.size() * sizeof(Step);
  StateMemory& memory = memory_.emplace_back(bytes, 0);
  copy_to_device(memory.on_device(), steps.data(), bytes);
  return reinterpret_cast<const Step*>(memory.on_device());
}

}  // namespace weft
