// Launchers' rank variables. See launch_env.h.
#include "launch_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "failure.h"

namespace weft::perf {
namespace {

constexpr int kLargestPort = 65535;
// A Slurm job without MASTER_PORT meets on 20000 + job id modulo this: below the ephemeral ports,
// apart for most jobs.
constexpr int kSlurmPortBase = 20000, kSlurmPorts = 10000;

int to_number(const std::string& name, const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) {
    fail_usage("{}='{}' is not a number", name, text);
  }
  return number;
}

std::optional<int> number(const Environment& environment, const std::string& name) {
  const auto text = environment(name);
  return text ? std::optional<int>(to_number(name, *text)) : std::nullopt;
}

// One launcher's names. A launcher is recognised by its rank and size; the local rank may be
// missing.
struct Launcher {
  const char *name, *rank, *size, *local_rank;
};
// torchrun first: it may itself run under Slurm or mpirun, one torchrun a node.
constexpr Launcher kLaunchers[] = {
    {"weft-perf --procs", kRankVariable, kSizeVariable, kRankVariable},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"mpirun (Open MPI)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"mpirun (PMI)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    // A bare PMIx server gives no size variable: the size is asked of the server.
    {"PMIx", "PMIX_RANK", nullptr, nullptr},
};

bool fill_place(const Environment& environment, const Launcher& launcher, Place& place) {
  const auto rank = number(environment, launcher.rank);
  if (!rank) return false;
  int size = 0;
  if (launcher.size != nullptr) {
    size = number(environment, launcher.size).value_or(0);
    if (size == 0) return false;
  }
  const auto local =
      launcher.local_rank == nullptr ? std::nullopt : number(environment, launcher.local_rank);
  // srun's batch step carries SLURM_PROCID=0 and the whole job's SLURM_NTASKS: that is no task of a
  // step.
  if (std::string(launcher.name) == "srun" && !environment("SLURM_STEP_ID")) return false;
  if (std::string(launcher.name) == "srun" && environment("SLURM_STEP_ID") == "batch") return false;
  place.launcher = launcher.name;
  place.rank = *rank;
  place.size = size;
  place.local_rank = local.value_or(-1);
  if (size > 0 && *rank >= size) {
    fail_usage("{}={} is not below {}={}", launcher.rank, *rank, launcher.size, size);
  }
  return true;
}

std::vector<int> parse_sockets(const std::string& text) {
  std::vector<int> sockets;
  std::stringstream stream(text);
  for (std::string one; std::getline(stream, one, ',');) {
    sockets.push_back(to_number(kSocketsVariable, one));
  }
  return sockets;
}

// True when the environment names a place for rank 0 to listen.
bool choose_tcp(const Environment& environment, const MeetingOptions& options, Place& place) {
  const auto address = environment("MASTER_ADDR");
  const auto port = number(environment, "MASTER_PORT");
  if (address && port) {
    place.address = *address;
    place.port = *port + options.port_offset;
  } else if (place.launcher == "srun" && environment("SLURM_STEP_NODELIST")) {
    place.address = first_slurm_host(*environment("SLURM_STEP_NODELIST"));
    place.port = kSlurmPortBase + number(environment, "SLURM_JOB_ID").value_or(0) % kSlurmPorts +
                 options.port_offset;
  } else {
    return false;
  }
  if (place.port < 1 || place.port > kLargestPort) {
    fail_usage("MASTER_PORT plus the offset {} is {}: no port", options.port_offset, place.port);
  }
  place.meeting = Meeting::kTcp;
  return true;
}

void choose_meeting(const Environment& environment, const MeetingOptions& options, Place& place) {
  if (const auto sockets = environment(kSocketsVariable)) {
    place.meeting = Meeting::kInherited;
    place.sockets = parse_sockets(*sockets);
    return;
  }
  if (place.size == 1) return;
  const bool has_pmix = environment("PMIX_RANK") && environment("PMIX_NAMESPACE");
  // What the user said (MASTER_ADDR) goes before what the launcher happens to offer.
  const bool user_address = environment("MASTER_ADDR") && environment("MASTER_PORT");
  if (options.how != "pmix" && (options.how == "tcp" || user_address || !has_pmix)) {
    if (place.size > 0 && choose_tcp(environment, options, place)) return;
  }
  if (options.how != "tcp" && has_pmix) {
    place.meeting = Meeting::kPmix;
    return;
  }
  fail_usage(
      "started by {} as rank {} of {}, but there is no way to meet the others: set MASTER_ADDR (a "
      "host "
      "of rank 0) and MASTER_PORT, or use a launcher with PMIx (PMIX_RANK and PMIX_NAMESPACE)",
      place.launcher, place.rank, place.size);
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

Place find_place(const Environment& environment, const MeetingOptions& options) {
  Place place;
  const bool found = std::any_of(
      std::begin(kLaunchers), std::end(kLaunchers),
      [&](const Launcher& launcher) { return fill_place(environment, launcher, place); });
  if (found) choose_meeting(environment, options, place);
  return place;
}

std::string first_slurm_host(const std::string& node_list) {
  const size_t end = node_list.find_first_of(",[");
  if (end == std::string::npos || node_list[end] == ',') return node_list.substr(0, end);
  const size_t number_end = node_list.find_first_of(",-]", end);
  std::string host = node_list.substr(0, end) + node_list.substr(end + 1, number_end - end - 1);
  // What follows the bracket belongs to every host: "gpu[1-2]-ib".
  const size_t closed = node_list.find(']', end);
  if (closed == std::string::npos) return host;
  return host + node_list.substr(closed + 1, node_list.find(',', closed) - closed - 1);
}

}  // namespace weft::perf
