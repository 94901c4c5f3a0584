// The command line: nccl-tests' options, and ours.
// Owns: names, defaults, ranges, help. Does not own: what they do. README.md lists them for users.
#pragma once

#include <rccl/rccl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "pattern.h"
#include "sizes.h"

namespace weft::perf {

enum class AcrossRanks { kFirst, kAverage, kMin, kMax };
enum class Registration { kNone, kLocal, kWindow };
enum class Blocking { kNone, kWithBarrier, kWithoutBarrier };
enum class Placements { kBoth, kInPlaceOnly, kOutOfPlaceOnly };
enum class BufferSource { kDevice, kLibrary };

struct Options {
  std::string collective = "all_reduce";
  std::string library, versus;  // files; library "": our own
  Sweep sweep{uint64_t{32} << 20, uint64_t{32} << 20, uint64_t{1} << 20, 0};
  int iterations = 20, warmup = 1, aggregate = 1, cycles = 1;
  int blocks = 0;  // 0: 1 alone, 9 side by side
  int threads = 1, gpus = 1, procs = 0;
  std::vector<ncclDataType_t> types{ncclFloat32};
  std::vector<Operation> ops{Operation::kSum};
  int root = 0;  // -1: every rank in turn
  int checks = 1;
  int graph_launches = 0;
  int timeout_seconds = 0;
  int misalign = 0;  // elements
  bool parallel_init = false, null_stream = false, cpu_time = false, latency = false;
  AcrossRanks across = AcrossRanks::kAverage;
  Registration registration = Registration::kNone;
  Blocking blocking = Blocking::kNone;
  Placements placements = Placements::kBoth;
  BufferSource buffers = BufferSource::kDevice;
  int cta_policy = -1;  // -1: not set
  std::string json;
  std::string meeting = "auto", pmix_library;
  int port_offset = 1;
};

// Reads argv. Prints help or version and exits, or throws Failure(kExitUsage).
Options parse_options(int argc, const char* const* argv);

Operation parse_operation(const std::string& name);
const char* operation_name(Operation op);  // "sum"; "none" for copies

}  // namespace weft::perf
