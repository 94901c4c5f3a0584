// The phases of an init (init.h), one function each.
#include "init.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "agree_costs.h"
#include "architecture.h"
#include "device_scope.h"
#include "error.h"
#include "hash.h"
#include "launch.h"
#include "launch_shape.h"
#include "log.h"
#include "transport/rank_info.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// What every rank says first; plain bytes.
struct Introduction {
  RankInfo info;
  Limits limits;
  uint8_t has_cost_file;
};

int compute_units(int device) {
  int units = 0;
  hip_check(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, device),
            "asking device {} for its compute units", device);
  return units;
}

std::string device_name(int device) {
  hipDeviceProp_t properties = {};
  hip_check(hipGetDeviceProperties(&properties, device), "asking for the properties of device {}",
            device);
  return properties.name;
}

// What all ranks know after the first gather, besides `ranks` of the communicator.
struct Introduced {
  std::vector<Limits> limits;
  bool has_cost_file;  // rank 0
};

Introduced introduce(Communicator& comm, bool has_cost_file) {
  const std::string shared = settings_all_ranks_share(comm.config());
  std::vector<Introduction> all(comm.size());
  Introduction& own = all[comm.rank()];
  own.info = make_rank_info({comm.rank(), kWireVersion, NCCL_VERSION_CODE, hash_text(shared),
                             comm.config().host_id, device_visibility()});
  own.has_cost_file = has_cost_file;
  own.limits = make_limits(comm.config(), comm.options().min_ctas, comm.options().max_ctas,
                           compute_units(comm.device()));
  own.limits.line_messages = comm.rules().allows(Collective::kSend, Protocol::kLl);
  comm.bootstrap->all_gather(all.data(), sizeof(Introduction));
  std::vector<Limits> limits;
  for (const Introduction& rank : all) {
    comm.ranks.push_back(rank.info);
    limits.push_back(rank.limits);
  }
  for (int rank = 0; rank < comm.size(); ++rank)
    share_device(limits[size_t(rank)], ranks_on_device(comm.ranks, rank));
  return {std::move(limits), all.front().has_cost_file != 0};
}

// Settings that decide what goes over the wire must be the same everywhere.
void agree_on_settings(Communicator& comm) {
  bool equal = true;
  for (const RankInfo& rank : comm.ranks) equal &= rank.config_hash == comm.ranks[0].config_hash;
  if (equal) return;
  const auto texts = comm.bootstrap->all_gather_texts(settings_all_ranks_share(comm.config()));
  for (int rank = 1; rank < comm.size(); ++rank)
    if (texts[rank] != texts[0])
      fail(ncclInvalidUsage,
           "settings that all ranks must share differ: rank 0 has [{}], rank {} has [{}]", texts[0],
           rank, texts[rank]);
  fail(ncclInvalidUsage, "ranks read different settings");
}

void agree_on_devices(Communicator& comm) {
  if (!comm.config().allow_shared_device) {
    const std::string duplicate = find_duplicate_device(comm.ranks);
    if (!duplicate.empty()) fail(ncclInvalidUsage, "{}", duplicate);
  }
  // fp8 has one encoding in a communicator: the bytes are reduced by all.
  const bool fnuz = platform::fp8_is_fnuz(comm.ranks[0].arch);
  for (const RankInfo& rank : comm.ranks)
    if (platform::fp8_is_fnuz(rank.arch) != fnuz)
      fail(ncclInvalidUsage, "rank 0 is on {}, rank {} on {}: their fp8 encodings differ",
           comm.ranks[0].arch, rank.rank, rank.arch);
  comm.fnuz = fnuz;
}

// Most ranks on one host, without the one that looks.
int most_peers(const std::vector<RankInfo>& ranks) {
  std::map<uint64_t, int> on_host;
  int most = 0;
  for (const RankInfo& rank : ranks) most = std::max(most, on_host[rank.host_hash]++);
  return most;
}

void connect_links(Communicator& comm) {
  comm.links =
      Links::connect(*comm.bootstrap, comm.ranks, comm.geometry.box.bytes(), comm.config());
  for (int peer = 0; peer < comm.size(); ++peer) {
    if (comm.links->kind(peer) == LinkKind::kNone)
      fail(ncclInvalidUsage,
           "rank {} is on host {}, rank {} on {}: this version has no network between hosts",
           comm.rank(), comm.ranks[comm.rank()].host_name, peer, comm.ranks[peer].host_name);
    if (comm.links->kind(peer) != LinkKind::kSelf)
      log_info(Subsystem::kP2p, "Channel {:02d}/0 : {}", 0, comm.links->description(peer));
  }
}

// Decisions are made for the blocks that operations may take.
void agree_on_costs(Communicator& comm, const Introduced& introduced, const std::string& text) {
  if (introduced.has_cost_file) {
    comm.costs = agree_costs(*comm.bootstrap, text, device_name(comm.device()));
  } else {
    log_info(Subsystem::kTuning, "costs: built in");
  }
  comm.costs.least_blocks = comm.geometry.min_channels;
  comm.costs.most_blocks = comm.geometry.box.channels;
}

// Whether all ranks reach all others' device memory; waits for all.
bool all_memory_is_reached(Communicator& comm) {
  std::vector<char> reached(size_t(comm.size()), 1);
  char& own = reached[size_t(comm.rank())];
  for (int peer = 0; peer < comm.size(); ++peer) {
    const LinkKind kind = comm.links->kind(peer);
    own = own && (kind == LinkKind::kSelf || kind == LinkKind::kDirect || kind == LinkKind::kIpc);
  }
  comm.bootstrap->all_gather(reached.data(), 1);
  return std::ranges::count(reached, 1) == comm.size();
}

void prepare_device(Communicator& comm) {
  load_kernels();
  std::vector<DevicePeer> peers;
  for (int peer = 0; peer < comm.size(); ++peer)
    peers.push_back({static_cast<char*>(comm.links->inbox(peer)),
                     static_cast<char*>(comm.links->outbox(peer))});
  comm.device_state = std::make_unique<DeviceState>(comm.rank(), peers, comm.geometry.box,
                                                    comm.config().epoch_base, kWireVersion);
  if (comm.config().zero_copy_bytes.value_or(int64_t(comm.costs.zero_copy_bytes)) > 0)
    comm.peer_access = std::make_unique<PeerAccess>(*comm.bootstrap, *comm.links, comm.ranks);
  // Nobody starts a kernel before all boxes have their starting words.
  if (!all_memory_is_reached(comm)) comm.peer_access.reset();
}

void log_ready(const Communicator& comm, const ncclUniqueId& id, Clock::time_point start) {
  const RankInfo& own = comm.ranks[comm.rank()];
  std::set<uint64_t> hosts;
  int local_ranks = 0, local_rank = 0;
  for (const RankInfo& rank : comm.ranks) {
    hosts.insert(rank.host_hash);
    local_rank += rank.host_hash == own.host_hash && rank.rank < own.rank;
    local_ranks += rank.host_hash == own.host_hash;
  }
  log_info(Subsystem::kInit,
           "comm {} rank {} nRanks {} nNodes {} localRanks {} localRank {} MNNVL 0",
           fmt::ptr(&comm), comm.rank(), comm.size(), hosts.size(), local_ranks, local_rank);
  log_info(Subsystem::kInit,
           "ncclCommInitRank_impl comm {} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x} "
           "commId {} - Init COMPLETE",
           fmt::ptr(&comm), comm.rank(), comm.size(), comm.device(), comm.device(), own.bus_id,
           unique_id_label(id));
  log_info(Subsystem::kInit, "comm {} rank {} {}, reductions of fp8 {}", fmt::ptr(&comm),
           comm.rank(), own.arch, comm.fnuz ? "FNUZ" : "OCP");
  log_info(Subsystem::kInit, "Init timings - ncclCommInitRank: rank {} nranks {} total {:.2f}",
           comm.rank(), comm.size(), std::chrono::duration<double>(Clock::now() - start).count());
}

void run_phases(Communicator& comm, const ncclUniqueId& id) {
  const auto start = Clock::now();
  if (comm.rank() == 0) log_version_banner();
  comm.bootstrap =
      Bootstrap::connect(id, comm.rank(), comm.size(), comm.config_shared(), &comm.interrupted());
  // Ranks have met, so a device that cannot be used is told to all.
  const DeviceScope scope(comm.device());
  const std::string cost_text = cost_file_text(comm.config(), comm.rank());
  const Introduced introduced = introduce(comm, !cost_text.empty());
  agree_on_settings(comm);
  agree_on_devices(comm);
  comm.geometry = agree_geometry(introduced.limits, most_peers(comm.ranks));
  if (comm.size() > 1) {
    agree_on_costs(comm, introduced, cost_text);
    connect_links(comm);
    prepare_device(comm);
    comm.selector = std::make_unique<Selector>(
        comm.rules(), comm.size(), comm.config().deterministic, comm.zero_copy_bytes(), comm.costs);
  }
  log_ready(comm, id, start);
}

}  // namespace

void initialize(Communicator& comm, const ncclUniqueId& id) {
  try {
    run_phases(comm, id);
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    const ncclResult_t code = known ? known->code() : ncclInternalError;
    if (comm.bootstrap) comm.bootstrap->fail(code, error.what());
    comm.set_async_error(code, error.what());
    comm.set_state(CommState::kFailed);
    throw;
  }
  comm.set_state(CommState::kReady);
}

}  // namespace weft
