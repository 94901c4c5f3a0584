// weft-perf: times and checks the collectives of any NCCL-compatible library, in nccl-tests' words.
// The path: options -> (supervisor, with --procs) -> launch_env -> session -> side, runner, verify
// -> table, json_record. `weft-perf calibrate` goes by calibrate.h instead.
#include <filesystem>
#include <memory>

#include "calibrate.h"
#include "failure.h"
#include "launch_env.h"
#include "options.h"
#include "session.h"
#include "supervisor.h"

namespace weft::perf {
namespace {

std::vector<std::string> arguments_of(int argc, char** argv) { return {argv, argv + argc}; }

std::string command_line(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += std::string(i == 0 ? "" : " ") + argv[i];
  return line;
}

int calibrate(int argc, char** argv) {
  // Not destroyed when a Failure passes, as a session.
  auto* calibration = new Calibration(parse_calibrate_options(argc, argv));
  calibration->run();
  delete calibration;
  return kExitOk;
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "calibrate") return calibrate(argc - 1, argv + 1);
  const Options options = parse_options(argc, argv);
  const Environment environment = process_environment();
  if (options.procs > 0 && !environment(kRankVariable)) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    return supervise(options.procs, program, arguments_of(argc, argv));
  }
  const Place place = find_place(environment, {options.meeting, options.port_offset});
  // Not destroyed when a Failure passes: communicators with work in flight may block.
  auto* session = new Session(options, place, command_line(argc, argv));
  const int status = session->run();
  delete session;
  return status;
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
  using namespace weft::perf;
  try {
    return run(argc, argv);
  } catch (const Failure& failure) {
    die(failure.exit_code(), failure.what());
  } catch (const std::exception& error) {
    die(kExitFailed, error.what());
  }
}
