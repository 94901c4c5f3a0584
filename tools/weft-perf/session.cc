// The sweep over types, operations, roots, sizes and placements. See session.h.
#include "session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "failure.h"
#include "gpu.h"
#include "json_record.h"
#include "table.h"
#include "verify.h"

namespace weft::perf {
namespace {

constexpr uint64_t kSeed = 0x77656674;  // "weft"; fixed, so that a run can be repeated

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

double required_bandwidth() {
  const char* text = std::getenv("NCCL_TESTS_MIN_BW");
  return text == nullptr ? 0 : std::strtod(text, nullptr) * 1e9;
}

// The library's own switch, which refuses a device with two ranks without it.
bool ranks_may_share() {
  const char* text = std::getenv("WEFT_ALLOW_SHARED_DEVICE");
  return text != nullptr && std::string(text) == "1";
}

}  // namespace

Session::Session(const Options& options, const Place& place, std::string command)
    : options_(options),
      place_(place),
      command_(std::move(command)),
      collective_(find_collective(options.collective)),
      crew_(options.threads),
      progress_(place.rank == 0),
      watchdog_(std::chrono::seconds(options.timeout_seconds), [this] {
        for (const auto& side : sides_) side->abort_all();
      }) {}

int Session::run() {
  step("meeting the other processes");
  exchange_ = open_exchange(place_, options_.pmix_library);
  find_world();
  open_sides();
  exchange_devices();
  print(table_head(options_, results_));
  for (int cycle = 0; options_.cycles == 0 || cycle < options_.cycles; ++cycle) run_cycle(cycle);
  const Summary summary = summarise(results_, required_bandwidth());
  print(table_foot(options_, results_, summary));
  if (is_first() && !options_.json.empty()) {
    write_json(options_.json, command_, options_, results_, summary);
  }
  step("closing the communicators");
  runners_.clear();
  exchange_->barrier();
  for (const auto& side : sides_) side->close();
  exchange_->barrier();
  watchdog_.rest();
  return summary.ok() ? kExitOk : kExitFailed;
}

void Session::find_world() {
  const std::vector<std::string> hosts = exchange_->all_gather(host_name());
  int local_rank = place_.local_rank;
  if (local_rank < 0) {
    const auto mine = hosts.begin() + exchange_->rank();
    local_rank = static_cast<int>(std::count(hosts.begin(), mine, *mine));
  }
  world_.threads = options_.threads;
  world_.gpus = options_.gpus;
  const int local_ranks = world_.local_ranks();
  world_.ranks = exchange_->size() * local_ranks;
  world_.first_rank = exchange_->rank() * local_ranks;
  world_.devices = device_count();
  // A launcher that shows each process only its own devices leaves exactly as many as are needed.
  world_.first_device = world_.devices == local_ranks ? 0 : local_rank * local_ranks;
  if (world_.first_device + local_ranks > world_.devices && !ranks_may_share()) {
    fail_usage(
        "rank {} needs device {}, but this host shows {} (-t {} x -g {} in process {} of this "
        "host)",
        world_.first_rank + local_ranks - 1, world_.first_device + local_ranks - 1, world_.devices,
        options_.threads, options_.gpus, local_rank);
  }
  if (options_.root >= world_.ranks) {
    fail_usage("-r {}: there are {} ranks", options_.root, world_.ranks);
  }
  crew_.run([this](int thread) {
    check_hip(hipSetDevice(world_.device_of(thread * world_.gpus)), "hipSetDevice");
  });
}

void Session::open_sides() {
  const size_t capacity = options_.sweep.max_bytes;
  sides_.reserve(2);  // the watchdog may look while the second is added
  sides_.push_back(
      std::make_unique<Side>("ours", open_library(options_.library), world_, options_, capacity));
  if (!options_.versus.empty()) {
    sides_.push_back(std::make_unique<Side>("theirs", open_library(options_.versus), world_,
                                            options_, capacity));
  }
  for (const auto& side : sides_) {
    step(fmt::format("initialising {} ranks of {}", world_.ranks, side->api().path));
    results_.libraries.push_back({side->label(), side->api().path, version_text(side->api())});
    side->open(*exchange_, crew_);
    runners_.push_back(std::make_unique<Runner>(*side, crew_, options_));
  }
}

void Session::exchange_devices() {
  step("gathering the devices");
  std::vector<DeviceLine> mine;
  for (const LocalRank& local : sides_[0]->locals()) {
    const DeviceFacts facts = device_facts(local.device);
    mine.push_back({local.rank, static_cast<int>(getpid()), local.device, host_name(), facts.bus_id,
                    facts.name, facts.arch});
  }
  for (const std::string& text : exchange_->all_gather(format_device_lines(mine))) {
    for (DeviceLine& line : parse_device_lines(text)) results_.devices.push_back(std::move(line));
  }
  fp8_fnuz_ = arch_has_fnuz(results_.devices[0].arch);
}

void Session::run_cycle(int cycle) {
  for (ncclDataType_t type : options_.types) {
    const TypeInfo& info = type_info(type, fp8_fnuz_);
    if (!collective_.reduces) {
      run_kind(cycle, info, Operation::kCopy);
      continue;
    }
    for (Operation op : options_.ops) run_kind(cycle, info, op);
  }
}

// All roots and sizes of one type and operation.
void Session::run_kind(int cycle, const TypeInfo& type, Operation op) {
  for (const auto& side : sides_) side->set_operation(type, op);
  TestData data({&type, op, world_.ranks, kSeed});
  TestData* used = options_.checks > 0 ? &data : nullptr;
  const bool all_roots = collective_.rooted && options_.root < 0;
  const int first = collective_.rooted ? std::max(options_.root, 0) : 0;
  const int last = all_roots ? world_.ranks - 1 : first;
  for (int root = first; root <= last; ++root) {
    for (uint64_t bytes : sweep_sizes(options_.sweep)) {
      Trial trial{&collective_, &type, op, root, 0, false};
      trial.count = count_for(collective_, bytes, type.bytes, world_.ranks);
      Row row = run_row(trial, used);
      row.cycle = cycle;
      print(table_row(row, sides_.size() > 1));
      // An endless run would otherwise never stop growing.
      if (options_.cycles == 0) results_.rows.clear();
      results_.rows.push_back(std::move(row));
    }
  }
}

Row Session::run_row(const Trial& trial, TestData* data) {
  Row row;
  row.bytes = total_bytes(collective_, trial.count, trial.type->bytes, world_.ranks);
  row.count = trial.count;
  row.type = trial.type->name;
  row.op = operation_name(trial.op);
  row.root = collective_.rooted ? trial.root : -1;
  Trial placed = trial;
  if (options_.placements != Placements::kInPlaceOnly)
    row.out_of_place = run_placement(placed, data);
  placed.in_place = true;
  if (options_.placements != Placements::kOutOfPlaceOnly)
    row.in_place = run_placement(placed, data);
  return row;
}

Placement Session::run_placement(const Trial& trial, TestData* data) {
  const std::string what =
      fmt::format("{} {} {}, {} {}", trial.in_place ? "in-place" : "out-of-place",
                  operation_name(trial.op), collective_.name, trial.count, trial.type->name);
  const bool checked = data != nullptr && (!trial.in_place || collective_.in_place_checked);
  std::vector<Measured> measured(sides_.size());
  for (size_t i = 0; i < sides_.size(); ++i) {
    step(fmt::format("{}: preparing {}", sides_[i]->label(), what));
    runners_[i]->prepare(trial);
    if (checked) measured[i].wrong = check(i, data, what);
    step(fmt::format("{}: warming up {}", sides_[i]->label(), what));
    runners_[i]->warm_up();
  }
  time_blocks(measured, what);
  for (Measured& each : measured) finish(each, trial);
  Placement placement{measured[0], {}, {}};
  if (sides_.size() > 1) {
    placement.theirs = measured[1];
    placement.comparison = compare(measured[0].blocks, measured[1].blocks);
  }
  return placement;
}

std::optional<uint64_t> Session::check(size_t i, TestData* data, const std::string& what) {
  uint64_t wrong = 0;
  for (int round = 0; round < options_.checks; ++round) {
    step(fmt::format("{}: checked call of {}", sides_[i]->label(), what));
    wrong += verify(*sides_[i], crew_, *runners_[i], *data, input_start(checked_calls_++));
  }
  const std::vector<double> all = exchange_->all_gather_number(static_cast<double>(wrong));
  return static_cast<uint64_t>(std::accumulate(all.begin(), all.end(), 0.0));
}

// Ours, theirs, ours, theirs ... so that slow changes of the machine hit both alike; never both at
// once.
void Session::time_blocks(std::vector<Measured>& measured, const std::string& what) {
  for (int block = 0; block < options_.blocks; ++block) {
    for (size_t i = 0; i < sides_.size(); ++i) {
      step(fmt::format("{}: block {} of {} of {}", sides_[i]->label(), block + 1, options_.blocks,
                       what));
      exchange_->barrier();
      const BlockTime time = runners_[i]->time_block();
      measured[i].blocks.push_back(
          over_ranks(options_.cpu_time ? time.enqueue_seconds : time.seconds));
    }
  }
  if (!options_.latency) return;
  for (size_t i = 0; i < sides_.size(); ++i) {
    step(fmt::format("{}: single calls of {}", sides_[i]->label(), what));
    exchange_->barrier();
    measured[i].singles = runners_[i]->time_singles();
  }
}

double Session::over_ranks(double mine) {
  const std::vector<double> all = exchange_->all_gather_number(mine);
  switch (options_.across) {
    case AcrossRanks::kFirst:
      return all[0];
    case AcrossRanks::kMin:
      return *std::min_element(all.begin(), all.end());
    case AcrossRanks::kMax:
      return *std::max_element(all.begin(), all.end());
    case AcrossRanks::kAverage:
      break;
  }
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

void Session::finish(Measured& measured, const Trial& trial) {
  measured.seconds = median(measured.blocks);
  const uint64_t bytes = total_bytes(collective_, trial.count, trial.type->bytes, world_.ranks);
  measured.algbw = static_cast<double>(bytes) / measured.seconds;
  measured.busbw = measured.algbw * collective_.bus_factor(world_.ranks);
}

void Session::step(const std::string& what) {
  watchdog_.begin(fmt::format("process {}: {}", place_.rank, what));
  progress_.note(what);
}

void Session::print(const std::string& text) {
  if (!is_first()) return;
  progress_.clear();
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace weft::perf
