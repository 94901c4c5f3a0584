// Which process of the job this is, from what the launcher left in the environment.
// Owns: the variables of weft-perf --procs, torchrun, Open MPI, PMIx, MPICH's PMI and Slurm, and
// how the processes meet. Does not own: the meeting itself (exchange.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weft::perf {

enum class Meeting {
  kAlone,      // one process
  kInherited,  // sockets from the parent (--procs)
  kTcp,        // rank 0 listens on address:port
  kPmix,       // the launcher's PMIx server
};

struct Place {
  std::string launcher = "none";
  int rank = 0, size = 1;  // size 0: only the PMIx server knows (ask the exchange)
  int local_rank = 0;      // among this host's processes; -1: the launcher did not say
  Meeting meeting = Meeting::kAlone;
  std::vector<int>
      sockets;  // kInherited: rank 0 has one to every other rank in order, they have one to rank 0
  std::string address;  // kTcp
  int port = 0;
};

// The value of an environment variable; nothing when unset or empty.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
Environment process_environment();

struct MeetingOptions {
  std::string how = "auto";  // auto, tcp or pmix
  int port_offset = 1;       // added to MASTER_PORT: torchrun's own store listens on that port
};

// Throws Failure(kExitUsage) that names the variables when they contradict each other or do not
// suffice.
Place find_place(const Environment& environment, const MeetingOptions& options);

// The first host of a Slurm node list: "gpu[03-07,9],x1" gives "gpu03".
std::string first_slurm_host(const std::string& node_list);

// Variables that carry a place from the parent to its children (supervisor.h).
inline constexpr char kRankVariable[] = "WEFT_PERF_RANK";
inline constexpr char kSizeVariable[] = "WEFT_PERF_SIZE";
inline constexpr char kSocketsVariable[] = "WEFT_PERF_SOCKETS";

}  // namespace weft::perf
