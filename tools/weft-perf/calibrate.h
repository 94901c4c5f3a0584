// `weft-perf calibrate`: measures the costs by which the library chooses, through its public calls.
// Owns: which calls are timed and under which settings. Does not own: what follows from the times
// (cost_fit.h), how a call is timed (runner.h).
//
// One process, one rank a GPU. A communicator takes its settings from the environment when it is
// made, so each protocol and number of blocks gets one of its own:
//   launch     all-reduce of nothing, in a replayed graph
//   hop        few bytes: all-gather and reduce-scatter directly (one hop), all-reduce by ring
//              (2 (n - 1) hops)
//   block      the same with more blocks
//   bandwidth  from two sizes of the direct all-gather and reduce-scatter
//   zero-copy  all-reduce with and without copies, size by size
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "calibrate_options.h"
#include "collectives.h"
#include "cost_fit.h"
#include "crew.h"
#include "exchange.h"
#include "library.h"
#include "options.h"
#include "progress.h"
#include "runner.h"
#include "side.h"
#include "watchdog.h"

namespace weft::perf {

struct Wire;  // a protocol, or going without copies

class Calibration {
 public:
  explicit Calibration(const CalibrateOptions& options);
  // Measures and writes the table. Throws Failure; the calibration must then not be destroyed
  // (communicators have work in flight).
  void run();

 private:
  void measure();
  bool measure_wire(const Wire& wire);
  bool measure_blocks(const Wire& wire, int blocks, WireSamples& samples);
  void measure_hops(const Wire& wire, WireSamples& samples);
  void measure_crossing();
  bool open(const Wire& wire, int blocks, uint64_t part_bytes, const char* all_reduce);
  void close();
  double part_us(uint64_t part_bytes);
  double time_us(const char* collective, uint64_t part_bytes);
  double time_us(int launches);
  std::vector<int> block_counts() const;
  bool is_late() const;
  void step(const std::string& what);
  void write(const std::string& text) const;

  const CalibrateOptions given_;
  const Api api_;
  const std::unique_ptr<Exchange> exchange_;
  const std::chrono::steady_clock::time_point start_;
  World world_;
  Options options_;  // of the runner; its number of calls changes
  Crew crew_{1};
  // All of the run: the watchdog may look at any time.
  std::vector<std::unique_ptr<Side>> sides_;
  std::unique_ptr<Runner> runner_;
  std::string label_;    // of the last side
  std::string why_not_;  // it could not be opened
  CostSamples samples_;
  Progress progress_{true};
  Watchdog watchdog_;
};

}  // namespace weft::perf
