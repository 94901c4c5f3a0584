// Tables of steps (step_tables.h).
#include "step_tables.h"

#include <hip/hip_runtime.h>

#include "device/work.h"
#include "hip_check.h"
#include "side_stream.h"

namespace weft {
namespace {

constexpr int kChannelKinds = 2;  // Spot::channel, even and odd
constexpr int kFewRanks = 16;     // tables of all roots: some 50 KiB
constexpr std::chrono::seconds kCopyLimit{20};

void add_cards(std::vector<Step>& steps) {
  Step give, take;
  give.card = take.card = true;
  give.send = take.recv = Peers::others();
  steps.insert(steps.end(), {give, take});
  static_assert(kCardHops == 2);
}

// A graph that is being captured must not see the copy.
class OutsideCaptures {
 public:
  OutsideCaptures() { (void)hipThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCaptures() { (void)hipThreadExchangeStreamCaptureMode(&mode_); }

 private:
  hipStreamCaptureMode mode_ = hipStreamCaptureModeRelaxed;
};

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

const Step* StepTables::find(const Key& key) {
  if (!tables_.contains(key)) upload({key});
  return tables_.at(key);
}

std::vector<Step> StepTables::steps_of(const Key& key) const {
  const auto [list, root] = key;
  std::vector<Step> steps;
  Spot at{rank_, ranks_, root};
  if (list >= kPatternCount) {
    const auto collective = Collective(list - kPatternCount);
    add_cards(steps);
    for (int hop = 0; hop < mapped_hops(collective, ranks_); ++hop)
      steps.push_back(mapped_step(collective, at, hop));
    add_cards(steps);
    return steps;
  }
  for (at.channel = 0; at.channel < kChannelKinds; ++at.channel)
    for (int hop = 0; hop < pattern_hops(PatternId(list), ranks_); ++hop)
      steps.push_back(pattern_step(PatternId(list), at, hop));
  return steps;
}

const Step* StepTables::find(uint64_t id, const std::vector<Step>& steps) {
  const Step*& table = schedules_[id];
  if (table == nullptr) {
    std::vector<Step> all;
    for (int kind = 0; kind < kChannelKinds; ++kind)
      all.insert(all.end(), steps.begin(), steps.end());
    table = copy(all);
  }
  return table;
}

void StepTables::upload(const std::vector<Key>& keys) {
  std::vector<Step> steps;
  std::vector<size_t> starts;
  for (const Key& key : keys) {
    starts.push_back(steps.size());
    const std::vector<Step> more = steps_of(key);
    steps.insert(steps.end(), more.begin(), more.end());
  }
  const Step* first = copy(steps);
  for (size_t i = 0; i < keys.size(); ++i) tables_[keys[i]] = first + starts[i];
}

const Step* StepTables::copy(const std::vector<Step>& steps) {
  const OutsideCaptures relaxed;
  const size_t bytes = steps.size() * sizeof(Step);
  StateMemory& memory = memory_.emplace_back(bytes, 0);
  SideStream stream;
  hip_check(
      hipMemcpyAsync(memory.on_device(), steps.data(), bytes, hipMemcpyHostToDevice, stream.get()),
      "copying {} bytes of steps to the device", bytes);
  hip_check(stream.wait(kCopyLimit), "waiting for {} bytes of steps", bytes);
  return reinterpret_cast<const Step*>(memory.on_device());
}

}  // namespace weft
