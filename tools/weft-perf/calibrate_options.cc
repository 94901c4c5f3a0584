// The command line with CLI11. See calibrate_options.h.
#include "calibrate_options.h"

#include <CLI/CLI.hpp>

#include "failure.h"
#include "sizes.h"

namespace weft::perf {
namespace {

constexpr int kMostGpus = 1024, kMostBlocks = 128, kMostSeconds = 24 * 3600;

}  // namespace

CalibrateOptions parse_calibrate_options(int argc, const char* const* argv) {
  CLI::App app{
      "Measures what operations of this library cost on the GPUs of this machine and writes the "
      "table that WEFT_COST_FILE names",
      "weft-perf calibrate"};
  CalibrateOptions options;
  std::string max_bytes = "32M";
  app.add_option("-o,--output", options.output, "the file to write [standard output]");
  app.add_option("-g,--ngpus", options.gpus, "ranks, one a GPU [all GPUs]")
      ->check(CLI::Range(2, kMostGpus));
  app.add_option("--max-blocks", options.max_blocks,
                 "most blocks of an operation [multiprocessors, at most 64]")
      ->check(CLI::Range(1, kMostBlocks));
  app.add_option("--max-bytes", max_bytes, "largest part of a rank [32M]");
  app.add_option("--seconds", options.seconds,
                 "after so long measure only what the table needs, and once [40]")
      ->check(CLI::Range(0, kMostSeconds));
  app.add_option("-T,--timeout", options.timeout_seconds,
                 "abort and exit with 3 when a step takes longer than this many seconds [20]")
      ->check(CLI::Range(1, kMostSeconds));
  app.add_option("--lib", options.library, "the library to measure [librccl.so.1 of this tree]");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::exit(app.exit(help));
  } catch (const CLI::ParseError& error) {
    fail_usage("{} (--help lists the options)", error.what());
  }
  options.max_bytes = parse_bytes(max_bytes);
  constexpr uint64_t kLeastBytes = 64 << 10;
  if (options.max_bytes < kLeastBytes) fail_usage("--max-bytes is at least 64K");
  return options;
}

}  // namespace weft::perf
