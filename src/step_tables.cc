// Tables of steps (step_tables.h).
#include "step_tables.h"

#include <hip/hip_runtime.h>

#include "hip_check.h"
#include "side_stream.h"

namespace weft {
namespace {

constexpr int kChannelKinds = 2;  // Spot::channel, even and odd
constexpr int kFewRanks = 16;     // tables of all roots: some 50 KiB
constexpr std::chrono::seconds kCopyLimit{20};

void add_steps(std::vector<Step>& steps, PatternId pattern, Spot at) {
  const int hops = pattern_hops(pattern, at.n);
  for (at.channel = 0; at.channel < kChannelKinds; ++at.channel)
    for (int hop = 0; hop < hops; ++hop) steps.push_back(pattern_step(pattern, at, hop));
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
  for (int id = 0; id < kPatternCount; ++id) {
    const bool all_roots = is_rooted(pattern_collective(PatternId(id))) && ranks <= kFewRanks;
    for (int root = 0; root < (all_roots ? ranks : 1); ++root)
      keys.push_back({PatternId(id), root});
  }
  upload(keys);
}

const Step* StepTables::find(PatternId pattern, int root) {
  const Key key{pattern, root};
  if (!tables_.contains(key)) upload({key});
  return tables_.at(key);
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
  for (const auto& [pattern, root] : keys) {
    starts.push_back(steps.size());
    add_steps(steps, pattern, {rank_, ranks_, root});
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
