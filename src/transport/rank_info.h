// What a rank says about itself (RankInfo, links.h): on which host, in which process, on which
// device. Owns: how those identities are made and compared. Identity of a host is that of its
// running kernel; names are only shown. Next on the path of an init: links.cc, which proves by a
// transfer what the identities suggest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "transport/links.h"

namespace weft {

// What the caller knows; the rest is asked from the system.
struct RankSelf {
  int rank;
  uint32_t wire_version;
  uint32_t library_version;
  uint64_t config_hash;
  std::string_view host_id;  // NCCL_HOSTID
  std::string_view
      visible;  // the variables that hide devices from this process, as set; for messages only
};

// For the current device. Errors: ncclUnhandledCudaError when the device cannot be asked.
RankInfo make_rank_info(const RankSelf& self);

// Ranks with equal hashes try to share memory. `host_id` alone decides when set, else the boot id,
// else (no /proc) the host name.
uint64_t host_hash(std::string_view host_id, std::string_view boot_id, std::string_view host_name);
// A process id means nothing without its namespace, and is used again after an exit: namespace and
// start time go in.
uint64_t process_hash(int64_t pid, uint64_t pid_namespace, std::string_view start_time);
// Inode of the process id namespace of this process; 0 when it cannot be read.
uint64_t pid_namespace();

// "0000:c1:00.0" <-> 0xc1000: the digits of domain, bus, device and function side by side, as in
// RCCL's log lines.
int64_t pack_bus_id(std::string_view text);
std::string bus_id_text(int64_t bus_id);

// How many ranks are on the device of that one.
int ranks_on_device(const std::vector<RankInfo>& ranks, int rank);

// "" when no two ranks are on one device; else a text that names the first such pair, with a table
// of all ranks of that host.
std::string find_duplicate_device(const std::vector<RankInfo>& ranks);

}  // namespace weft
