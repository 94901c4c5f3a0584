// What a run found: plain data between the measuring (session.cc) and the telling (table.cc,
// json_record.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "statistics.h"

namespace weft::perf {

// Of one library, one size, one placement. Times are seconds per call, over all ranks as -a says.
struct Measured {
  std::vector<double> blocks;
  double seconds = 0;             // median of the blocks
  double algbw = 0, busbw = 0;    // bytes per second
  std::optional<uint64_t> wrong;  // over all ranks; nothing when not checked
  std::vector<double> singles;    // --latency
};

struct Placement {
  Measured ours;
  std::optional<Measured> theirs;  // --vs
  std::optional<Comparison> comparison;
};

struct Row {
  int cycle = 0;
  uint64_t bytes = 0, count = 0;
  std::string type, op;
  int root = -1;  // -1: the collective has none
  std::optional<Placement> out_of_place, in_place;
};

struct DeviceLine {
  int rank, process_id, device;
  std::string host, bus_id, name, arch;
};

// The lines of one process as text, for the exchange between processes.
std::string format_device_lines(const std::vector<DeviceLine>& lines);
std::vector<DeviceLine> parse_device_lines(const std::string& text);

struct LibraryLine {
  std::string label, path, version;
};

struct Summary {
  uint64_t wrong = 0;
  double bus_bandwidth = 0;       // mean of all rows' busbw of our side, bytes per second
  double required_bandwidth = 0;  // NCCL_TESTS_MIN_BW, bytes per second; 0: none
  int compared = 0, slower = 0;   // --vs
  bool bandwidth_ok() const { return bus_bandwidth >= kBandwidthTolerance * required_bandwidth; }
  bool ok() const { return wrong == 0 && bandwidth_ok(); }
  static constexpr double kBandwidthTolerance = 0.9;  // nccl-tests'
};

struct Results {
  std::vector<LibraryLine> libraries;
  std::vector<DeviceLine> devices;
  std::vector<Row> rows;
};

Summary summarise(const Results& results, double required_bandwidth);

}  // namespace weft::perf
