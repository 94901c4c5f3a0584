// The calls that are timed. See calibrate.h.
#include "calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "failure.h"
#include "gpu.h"
#include "sizes.h"
#include "statistics.h"
#include "types.h"

namespace weft::perf {

struct Wire {
  const char *name, *protocol, *zero_copy;
  int hops;             // of the direct patterns
  uint64_t long_bytes;  // part of a rank that shows the bandwidth
};

namespace {

constexpr Wire kWires[] = {
    {"ll", "LL", "0", 1, 512 << 10},
    {"ll128", "LL128", "0", 1, 2 << 20},
    {"simple", "Simple", "0", 1, 16 << 20},
    {"zero_copy", "Simple", "1", 2, 32 << 20},  // everybody hears of everybody twice
};
constexpr const Wire &kSimple = kWires[2], &kZeroCopy = kWires[3];

constexpr int kDefaultMostBlocks = 64;
constexpr size_t kMostSides = 256;
// A timed block is about so long, so that the clock and the last wait do not count.
constexpr double kBlockUs = 2000;
constexpr int kMostLaunches = 200, kTimedBlocks = 5;
// Calls in a graph: enough that its own launch is small beside them.
constexpr int kCalls = 20, kLongCalls = 4;
constexpr uint64_t kLongBytes = 256 << 10;
constexpr uint64_t kBytesPerBlock = 128;  // of a small call: a line for every block
constexpr uint64_t kShorter = 8;          // the shorter of two sizes is so much shorter
constexpr uint64_t kCrossingFrom = 16 << 10, kCrossingFactor = 2;

void set(const char* variable, const std::string& value) {
  if (value.empty()) {
    unsetenv(variable);
  } else {
    setenv(variable, value.c_str(), 1);
  }
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  char text[64] = "";
  std::strftime(text, sizeof text, "%F %T UTC", gmtime_r(&now, &utc));
  return text;
}

int multiprocessors() {
  int units = 0;
  check_hip(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0),
            "hipDeviceGetAttribute");
  return units;
}

World world_of(int gpus) {
  World world;
  world.devices = device_count();
  world.gpus = gpus > 0 ? gpus : world.devices;
  world.ranks = world.gpus;
  if (world.gpus > world.devices || world.gpus < 2)
    fail_usage("-g {}: this machine shows {} devices, at least two are needed", world.gpus,
               world.devices);
  return world;
}

}  // namespace

Calibration::Calibration(const CalibrateOptions& options)
    : given_(options),
      api_(open_library(options.library)),
      exchange_(open_exchange(Place{}, "")),
      start_(std::chrono::steady_clock::now()),
      world_(world_of(options.gpus)),
      watchdog_(std::chrono::seconds(options.timeout_seconds), [this] {
        for (const auto& side : sides_) side->abort_all();
      }) {
  sides_.reserve(kMostSides);
  options_.gpus = world_.gpus;
  options_.blocks = kTimedBlocks;
  options_.placements = Placements::kOutOfPlaceOnly;
}

void Calibration::run() {
  measure();
  watchdog_.rest();
  progress_.clear();
  const std::string comment = fmt::format("weft-perf {} calibrate, {}, library {}", WEFT_VERSION,
                                          now_text(), version_text(api_));
  write(cost_table_text(samples_, comment, device_facts(0).name, world_.ranks));
}

void Calibration::measure() {
  set("WEFT_COST_FILE", "");
  for (const Wire& wire : kWires)
    if (!measure_wire(wire))
      fmt::print(stderr, "weft-perf: {} is left out: {}\n", wire.name, why_not_);
  if (samples_.wires.empty()) fail("nothing could be measured");
  measure_crossing();
}

// False: the library does not offer it; why_not_ says so.
bool Calibration::measure_wire(const Wire& wire) {
  WireSamples samples{wire.name, {}, {}};
  const std::vector<int> counts = block_counts();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i >= 2 && is_late()) break;  // the ends are there
    if (!measure_blocks(wire, counts[i], samples)) return false;
  }
  samples_.wires.push_back(std::move(samples));
  return true;
}

bool Calibration::measure_blocks(const Wire& wire, int blocks, WireSamples& samples) {
  const uint64_t longer = std::min(wire.long_bytes, given_.max_bytes), shorter = longer / kShorter;
  if (!open(wire, blocks, longer, "ring")) return false;
  if (blocks == 1) measure_hops(wire, samples);
  const double others = world_.ranks - 1;
  samples.by_blocks.push_back({blocks,
                               part_us(kBytesPerBlock * static_cast<uint64_t>(blocks)),
                               {others * static_cast<double>(shorter), part_us(shorter)},
                               {others * static_cast<double>(longer), part_us(longer)}});
  close();
  return true;
}

void Calibration::measure_hops(const Wire& wire, WireSamples& samples) {
  if (samples_.launch_us == 0) samples_.launch_us = time_us("all_reduce", 0);
  samples.hops.push_back({wire.hops, time_us("all_gather", kBytesPerBlock)});
  samples.hops.push_back({wire.hops, time_us("reduce_scatter", kBytesPerBlock)});
  if (&wire != &kZeroCopy)
    samples.hops.push_back({2 * (world_.ranks - 1), time_us("all_reduce", kBytesPerBlock)});
}

void Calibration::measure_crossing() {
  if (samples_.wires.back().name != kZeroCopy.name) return;
  const std::vector<int> counts = block_counts();
  const int most = *std::max_element(counts.begin(), counts.end());
  std::vector<CrossingSample> samples;
  const uint64_t largest = given_.max_bytes;
  for (uint64_t bytes = kCrossingFrom; bytes <= largest; bytes *= kCrossingFactor)
    samples.push_back({bytes, 0, 0});
  for (const Wire* wire : {&kSimple, &kZeroCopy}) {
    if (!open(*wire, most, largest, "direct")) return;
    for (CrossingSample& sample : samples)
      (wire == &kSimple ? sample.copied_us : sample.direct_us) =
          time_us("all_reduce", sample.bytes);
    close();
  }
  samples_.crossing = std::move(samples);
}

// The mean of both directions of work: reading what others gave, and adding it.
double Calibration::part_us(uint64_t part_bytes) {
  return (time_us("all_gather", part_bytes) + time_us("reduce_scatter", part_bytes)) / 2;
}

// `part_bytes`: of a rank; of all-reduce, the whole.
double Calibration::time_us(const char* collective, uint64_t part_bytes) {
  const Collective& row = find_collective(collective);
  const TypeInfo& type = type_info(ncclFloat32, false);
  const Operation op = row.reduces ? Operation::kSum : Operation::kCopy;
  const Trial trial{&row, &type, op, 0, static_cast<size_t>(part_bytes) / type.bytes, false};
  step(fmt::format("{}, {} of {}", label_, collective, format_bytes(part_bytes)));
  options_.iterations = part_bytes > kLongBytes ? kLongCalls : kCalls;
  options_.graph_launches = 1;
  runner_->prepare(trial);
  runner_->warm_up();
  const double once = time_us(1);
  const double launches = kBlockUs / (once * options_.iterations);
  std::vector<double> times;
  const int blocks = is_late() ? 1 : kTimedBlocks;
  for (int block = 0; block < blocks; ++block)
    times.push_back(time_us(std::clamp(static_cast<int>(launches), 1, kMostLaunches)));
  return median(times);
}

double Calibration::time_us(int launches) {
  options_.graph_launches = launches;
  return runner_->time_block().seconds * 1e6;
}

// Both ends first: what is between them may be left out. One count: that.
std::vector<int> Calibration::block_counts() const {
  const int most =
      given_.max_blocks > 0 ? given_.max_blocks : std::min(multiprocessors(), kDefaultMostBlocks);
  std::vector<int> counts{1};
  if (most > 1) counts.push_back(most);
  for (int between = 2; between < most; between *= 2) counts.push_back(between);
  return counts;
}

// A communicator that does everything over this wire, with so many blocks.
bool Calibration::open(const Wire& wire, int blocks, uint64_t part_bytes, const char* all_reduce) {
  set("NCCL_ALGO", fmt::format("allreduce:{};allgather:direct;reducescatter:direct", all_reduce));
  set("NCCL_PROTO", wire.protocol);
  set("WEFT_ZERO_COPY", wire.zero_copy);
  set("NCCL_MIN_NCHANNELS", std::to_string(blocks));
  set("NCCL_MAX_NCHANNELS", std::to_string(blocks));
  label_ = fmt::format("{} with {} blocks", wire.name, blocks);
  step("initialising " + label_);
  const size_t capacity = static_cast<size_t>(part_bytes) * static_cast<size_t>(world_.ranks);
  if (sides_.size() == kMostSides) fail("more than {} communicators", kMostSides);
  sides_.push_back(std::make_unique<Side>(label_, api_, world_, options_, capacity));
  try {
    sides_.back()->open(*exchange_, crew_);
  } catch (const Failure& failure) {
    why_not_ = failure.what();
    return false;
  }
  runner_ = std::make_unique<Runner>(*sides_.back(), crew_, options_);
  return true;
}

void Calibration::close() {
  step("closing " + label_);
  runner_.reset();
  sides_.back()->close();
}

bool Calibration::is_late() const {
  return std::chrono::steady_clock::now() - start_ > std::chrono::seconds(given_.seconds);
}

void Calibration::step(const std::string& what) {
  watchdog_.begin(what);
  progress_.note(what);
}

void Calibration::write(const std::string& text) const {
  if (given_.output.empty()) {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(given_.output);
  file << text;
  file.close();
  if (!file) fail("cannot write {}", given_.output);
}

}  // namespace weft::perf
