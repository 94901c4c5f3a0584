// A whole run in one process: devices, libraries, every row, the table.
// Owns: the order of things and what is exchanged between processes. The parts are side.h,
// runner.h, verify.h, table.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crew.h"
#include "exchange.h"
#include "options.h"
#include "progress.h"
#include "results.h"
#include "runner.h"
#include "side.h"
#include "test_data.h"
#include "watchdog.h"

namespace weft::perf {

class Session {
 public:
  // `command` is for the record.
  Session(const Options& options, const Place& place, std::string command);
  // Returns the exit status. Throws Failure; the session must then not be destroyed (communicators
  // have work in flight).
  int run();

 private:
  void find_world();
  void open_sides();
  void exchange_devices();
  void run_cycle(int cycle);
  void run_kind(int cycle, const TypeInfo& type, Operation op);
  Row run_row(const Trial& trial, TestData* data);
  Placement run_placement(const Trial& trial, TestData* data);
  std::optional<uint64_t> check(size_t side, TestData* data, const std::string& what);
  void time_blocks(std::vector<Measured>& measured, const std::string& what);
  double over_ranks(double mine);
  void finish(Measured& measured, const Trial& trial);
  void step(const std::string& what);
  void print(const std::string& text);
  bool is_first() const { return exchange_->rank() == 0; }

  const Options options_;
  const Place place_;
  const std::string command_;
  const Collective& collective_;
  Crew crew_;
  std::unique_ptr<Exchange> exchange_;
  World world_;
  bool fp8_fnuz_ = false;
  std::vector<std::unique_ptr<Side>> sides_;      // ours, then theirs with --vs
  std::vector<std::unique_ptr<Runner>> runners_;  // one a side
  Results results_;
  uint64_t checked_calls_ = 0;
  Progress progress_;
  Watchdog watchdog_;
};

}  // namespace weft::perf
