// The command line with CLI11. See options.h.
#include "options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "collectives.h"
#include "failure.h"
#include "statistics.h"
#include "types.h"

namespace weft::perf {
namespace {

constexpr int kManyLaunches = 1 << 20, kMostProcesses = 4096, kMostGpus = 1024;
constexpr int kDefaultBlocksVersus = 9;

struct OperationName {
  const char* name;
  Operation op;
};
constexpr OperationName kOperations[] = {
    {"sum", Operation::kSum}, {"prod", Operation::kProd}, {"min", Operation::kMin},
    {"max", Operation::kMax}, {"avg", Operation::kAvg},   {"mulsum", Operation::kMulSum},
};

// What CLI11 fills in as text, turned into Options once parsing is over.
struct Texts {
  std::string min, max, step = "1M", op = "sum", type = "float", root = "0", buffers = "device";
  uint64_t factor = 0;
  int across = 1, registration = 0, blocking = 0, placements = -1;
  int parallel_init = 0, null_stream = 0, cpu_time = 0;
};

void add_sizes_and_work(CLI::App& app, Options& o, Texts& t) {
  const auto count = CLI::Range(0, INT_MAX);
  app.add_option("-b,--minbytes", t.min, "smallest size (K, M, G: powers of 1024) [32M]");
  app.add_option("-e,--maxbytes", t.max, "largest size [32M, or -b when that is larger]");
  app.add_option("-i,--stepbytes", t.step, "add this from size to size [1M]");
  app.add_option("-f,--stepfactor", t.factor, "multiply by this instead");
  app.add_option("-n,--iters", o.iterations, "calls in a timed block [20]")
      ->check(CLI::PositiveNumber);
  app.add_option("-w,--warmup_iters", o.warmup, "untimed calls before each size [1]")->check(count);
  app.add_option("-m,--agg_iters", o.aggregate, "calls in one group [1]")
      ->check(CLI::PositiveNumber);
  app.add_option("-N,--run_cycles", o.cycles,
                 "go through everything this often, 0: until ended [1]")
      ->check(count);
  app.add_option("-d,--datatype", t.type, "element type or all [float]");
  app.add_option("-o,--op", t.op,
                 "sum, prod, min, max, avg, mulsum or all (of these but mulsum) [sum]");
  app.add_option("-r,--root", t.root, "root of rooted collectives, all or -1 for each in turn [0]");
  app.add_option("-u,--misalign", o.misalign, "start buffers this many elements off [0]")
      ->check(count);
  app.add_option("-O,--out_of_place", t.placements, "1: only out of place, 0: only in place [both]")
      ->check(CLI::Range(0, 1));
}

void add_measuring(CLI::App& app, Options& o, Texts& t) {
  const auto flag = CLI::Range(0, 1);
  app.add_option("-c,--check", o.checks, "checked calls per size, 0: none [1]")
      ->check(CLI::Range(0, INT_MAX));
  app.add_option("-G,--cudagraph,--hipgraph", o.graph_launches,
                 "capture -n calls in a graph and replay it this often per block [0: no graph]")
      ->check(CLI::Range(0, kManyLaunches));
  app.add_option("-R,--local_register", t.registration,
                 "buffers: 0 as they are, 1 registered, 2 in symmetric windows [0]")
      ->check(CLI::Range(0, 2));
  app.add_option("-z,--blocking", t.blocking,
                 "after each call 1: wait, then a barrier of the threads, 2: wait [0: neither]")
      ->check(CLI::Range(0, 2));
  app.add_option("-a,--average", t.across,
                 "of the ranks' times report 0 rank 0's, 1 mean, 2 smallest, 3 largest [1]")
      ->check(CLI::Range(0, 3));
  app.add_option("-C,--report_cputime", t.cpu_time, "report the time to enqueue instead [0]")
      ->check(flag);
  app.add_option("-y,--stream_null", t.null_stream, "use the null stream [0]")->check(flag);
  app.add_option("-T,--timeout", o.timeout_seconds,
                 "abort and exit with 3 when a step takes longer than this many seconds [0: never]")
      ->check(CLI::Range(0, INT_MAX));
  app.add_option("-x,--cta_policy", o.cta_policy, "ncclConfig_t.CTAPolicy [unset]")
      ->check(CLI::Range(0, INT_MAX));
  app.add_option("--blocks", o.blocks,
                 "timed blocks per size, the median is reported [1; 9 with --vs]")
      ->check(CLI::Range(1, kManyLaunches));
  app.add_option("--memory", t.buffers,
                 "buffers from the runtime (device) or ncclMemAlloc (library)")
      ->check(CLI::IsMember({"device", "library"}));
  app.add_flag("--latency", o.latency,
               "also time -n single calls, each to its end: min, median, p99, max");
  app.add_option("-J,--json", o.json, "write all figures to this file");
}

void add_job(CLI::App& app, Options& o, Texts& t) {
  app.add_option("--lib", o.library, "the library to measure [librccl.so.1 of this tree]");
  app.add_option("--vs", o.versus, "a second library, timed in turns with the first");
  app.add_option("-t,--nthreads", o.threads, "threads per process [1]")
      ->check(CLI::Range(1, kMostGpus));
  app.add_option("-g,--ngpus", o.gpus, "GPUs per thread [1]")->check(CLI::Range(1, kMostGpus));
  app.add_option("-p,--parallel_init", t.parallel_init,
                 "every thread initialises its own ranks [0]")
      ->check(CLI::Range(0, 1));
  app.add_option("--procs", o.procs, "start this many processes here")
      ->check(CLI::Range(1, kMostProcesses));
  app.add_option("--exchange", o.meeting,
                 "how processes of a launcher meet: auto, tcp, pmix [auto]")
      ->check(CLI::IsMember({"auto", "tcp", "pmix"}));
  app.add_option("--port-offset", o.port_offset, "added to MASTER_PORT [1]")
      ->check(CLI::Range(-65535, 65535));
  app.add_option("--pmix-lib", o.pmix_library, "the PMIx library [libpmix.so.2]");
}

void take_sizes(Options& o, const Texts& t) {
  if (!t.min.empty()) o.sweep.min_bytes = parse_bytes(t.min);
  // Only one of the two given: a single size, as far as the default allows.
  if (t.max.empty()) {
    o.sweep.max_bytes = std::max(o.sweep.max_bytes, o.sweep.min_bytes);
  } else {
    o.sweep.max_bytes = parse_bytes(t.max);
    if (t.min.empty()) o.sweep.min_bytes = std::min(o.sweep.min_bytes, o.sweep.max_bytes);
  }
  o.sweep.step_bytes = parse_bytes(t.step);
  o.sweep.step_factor = t.factor;
  sweep_sizes(o.sweep);  // complains now
}

void take_kinds(Options& o, const Texts& t) {
  o.types = t.type == "all" ? all_types() : std::vector{parse_type(t.type)};
  if (t.op == "all") {
    o.ops.clear();
    for (const OperationName& each : kOperations) {
      if (each.op != Operation::kMulSum) o.ops.push_back(each.op);  // not every library has it
    }
  } else {
    o.ops = {parse_operation(t.op)};
  }
  if (t.root == "all") {
    o.root = -1;
  } else {
    char* end = nullptr;
    o.root = static_cast<int>(std::strtol(t.root.c_str(), &end, 10));
    if (*end != '\0' || o.root < -1) fail_usage("-r {}: not a rank", t.root);
  }
}

void take(Options& o, const Texts& t) {
  take_sizes(o, t);
  take_kinds(o, t);
  o.across = static_cast<AcrossRanks>(t.across);
  o.registration = static_cast<Registration>(t.registration);
  o.blocking = static_cast<Blocking>(t.blocking);
  o.parallel_init = t.parallel_init != 0;
  o.null_stream = t.null_stream != 0;
  o.cpu_time = t.cpu_time != 0;
  if (t.placements == 0) o.placements = Placements::kInPlaceOnly;
  if (t.placements == 1) o.placements = Placements::kOutOfPlaceOnly;
  const bool library_memory = t.buffers == "library" || o.registration == Registration::kWindow;
  o.buffers = library_memory ? BufferSource::kLibrary : BufferSource::kDevice;
  if (o.blocks == 0) o.blocks = o.versus.empty() ? 1 : kDefaultBlocksVersus;
  if (!o.versus.empty() && o.blocks < kFewestForInterval) {
    fail_usage("--vs needs at least {} blocks for a 95 % interval", kFewestForInterval);
  }
  if (o.graph_launches > 0 && o.null_stream) fail_usage("-G cannot capture the null stream (-y 1)");
  if (o.graph_launches > 0 && o.blocking != Blocking::kNone) {
    fail_usage("-z has no meaning inside a graph (-G)");
  }
}

// Started under a name of nccl-tests ("all_gather_perf", by a link) the collective is known.
std::string collective_of_program(const char* program) {
  const std::string name = std::filesystem::path(program).filename();
  const std::string ending = "_perf";
  if (name.size() <= ending.size() || name.substr(name.size() - ending.size()) != ending) return "";
  return name.substr(0, name.size() - ending.size());
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  CLI::App app{"Times and checks the collectives of an NCCL-compatible library", "weft-perf"};
  app.set_version_flag("--version", "weft-perf " WEFT_VERSION);
  app.footer(
      "weft-perf calibrate measures the table that WEFT_COST_FILE names (weft-perf calibrate "
      "--help)."
      "\n\nWEFT_ALLOW_SHARED_DEVICE=1 lets more ranks than devices run: rank r uses device r "
      "modulo "
      "the "
      "devices.\nAll blocks of a device's ranks must be resident at once: for another library than "
      "ours NCCL_MAX_NCHANNELS\nmay have to be lower, or calls hang (-T ends them).");
  Options options;
  Texts texts;
  std::string names;
  for (const std::string& name : collective_names()) names += (names.empty() ? "" : ", ") + name;
  auto* collective = app.add_option("collective", options.collective, names);
  const std::string implied = collective_of_program(argv[0]);
  if (implied.empty()) {
    collective->required();
  } else {
    options.collective = implied;
  }
  add_sizes_and_work(app, options, texts);
  add_measuring(app, options, texts);
  add_job(app, options, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    std::exit(app.exit(help_or_version));
  } catch (const CLI::ParseError& error) {
    fail_usage("{} (--help lists the options)", error.what());
  }
  find_collective(options.collective);  // complains now
  take(options, texts);
  return options;
}

Operation parse_operation(const std::string& name) {
  std::string known = "all";
  for (const OperationName& each : kOperations) {
    if (name == each.name) return each.op;
    known += fmt::format(", {}", each.name);
  }
  fail_usage("'{}' is not an operation; known: {}", name, known);
}

const char* operation_name(Operation op) {
  for (const OperationName& each : kOperations) {
    if (op == each.op) return each.name;
  }
  return "none";
}

}  // namespace weft::perf
