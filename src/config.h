// The settings of the library: the environment and the conf files are read here and nowhere else,
// into a frozen struct. Owns: names, aliases, types, ranges, defaults and help texts (config.cc,
// one table row per setting). A communicator takes a snapshot when it is created, so a variable set
// between two inits reaches the second.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// What NCCL_... and WEFT_... variables say. Empty optional or string: not set, the library decides.
// Initialisers are the defaults.
struct Config {
  // Bootstrap and host identity.
  std::string comm_id;        // NCCL_COMM_ID  host:port of rank 0
  std::string secret_file;    // WEFT_SECRET_FILE  key for NCCL_COMM_ID jobs
  std::string socket_ifname;  // NCCL_SOCKET_IFNAME  filter grammar of RCCL
  std::string socket_family;  // NCCL_SOCKET_FAMILY  AF_INET | AF_INET6
  std::string host_id;        // NCCL_HOSTID
  std::string port_range;     // WEFT_PORT_RANGE  "first-last" for listening sockets
  // WEFT_INIT_TIMEOUT (seconds) for every wait of an init. A rank may come a minute late and
  // torchrun allows its store five minutes, so does this.
  std::chrono::milliseconds init_timeout = std::chrono::seconds(300);
  std::chrono::milliseconds op_timeout{
      0};  // WEFT_TIMEOUT (seconds), 0: operations wait until aborted
  // Communicator.
  std::optional<int> blocking;      // NCCL_COMM_BLOCKING
  std::optional<int> min_channels;  // NCCL_MIN_NCHANNELS, alias NCCL_MIN_NRINGS
  std::optional<int> max_channels;  // NCCL_MAX_NCHANNELS, alias NCCL_MAX_NRINGS
  std::optional<int> min_ctas;      // NCCL_MIN_CTAS
  std::optional<int> max_ctas;      // NCCL_MAX_CTAS
  std::optional<int> threads;       // NCCL_NTHREADS
  std::optional<int64_t>
      buffer_bytes;  // NCCL_BUFFSIZE  bytes of one peer's Simple FIFO over all channels
  std::optional<int64_t> zero_copy_bytes;  // WEFT_ZERO_COPY  0: never
  std::string cost_file;                   // WEFT_COST_FILE
  std::string algo;                        // NCCL_ALGO
  std::string proto;                       // NCCL_PROTO
  bool deterministic = false;              // WEFT_DETERMINISTIC
  bool p2p_disable = false;                // NCCL_P2P_DISABLE
  bool shm_disable = false;                // NCCL_SHM_DISABLE
  bool check_pointers = false;             // NCCL_CHECK_POINTERS
  bool allow_shared_device = false;        // WEFT_ALLOW_SHARED_DEVICE
  bool unsafe = false;                     // WEFT_UNSAFE
  bool graph_mixing = true;                // NCCL_GRAPH_MIXING_SUPPORT
  // For tests of this library.
  uint32_t epoch_base = 0;  // WEFT_EPOCH_BASE  first value of every step counter
  uint32_t random_grid =
      0;  // WEFT_RANDOM_GRID  seed; not 0: every launch takes a random number of blocks
};

// Reads the environment and the conf files again. Throws Error(ncclInvalidUsage) naming variable,
// value and what is allowed when a value cannot be used; a misspelt NCCL_, RCCL_ or WEFT_ name is
// one WARN a process with the nearest known name.
std::shared_ptr<const Config> read_config();

// The settings that must be equal on all ranks, as "NAME=value" lines in table order, only those
// that differ from their default: hash it into RankInfo::config_hash, show it when hashes differ.
std::string settings_all_ranks_share(const Config& config);

// "HIP_VISIBLE_DEVICES=0,1": the variables that hide devices from this process, for messages.
std::string device_visibility();

// One row of the table, for the dump, the docs and weft-topo.
struct SettingInfo {
  std::string name, aliases, type, range, scope, default_text, help;
  std::string value, origin;  // what is set now and by whom; empty when nothing is
};
std::vector<SettingInfo> list_settings();

// NCCL_DEBUG, NCCL_DEBUG_SUBSYS, NCCL_DEBUG_FILE, timestamps: read by log.cc through this, once and
// on log_reset().
struct LogConfig {
  std::string level, subsystems, file, timestamp_format, timestamp_levels;
};
LogConfig read_log_config();

}  // namespace weft
