// Which way each pair of ranks of a host uses: P2P for all pairs first, then shared memory for
// those it does not serve. Both ends of a pair hold the same gathered tables, so they decide the
// same without asking each other again.
#include "transport/links.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "device_scope.h"
#include "log.h"
#include "platform_memory.h"
#include "transport/exchange.h"
#include "transport/p2p.h"
#include "transport/probe.h"
#include "transport/rank_info.h"
#include "transport/shm.h"
#include "transport/trial.h"

namespace weft {
namespace {

// Boxes start on pages, also of kernels with pages of 64 KiB: a box may be mapped alone.
size_t round_to_page(size_t bytes) {
  const auto page = std::max(kMinBoxBytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  return std::max((bytes + page - 1) / page * page, page);
}

class HostLinks : public Links {
 public:
  HostLinks(const std::vector<RankInfo>& ranks, int rank, size_t box_bytes)
      : ranks_(ranks),
        rank_(rank),
        box_bytes_(round_to_page(box_bytes)),
        ways_(ranks.size(), nullptr) {}
  ~HostLinks() override { close(false); }

  void connect(Bootstrap& bootstrap, const Config& config);

  void* inbox(int peer) const override { return ways_[peer] ? ways_[peer]->inbox(peer) : nullptr; }
  void* outbox(int peer) const override {
    return ways_[peer] ? ways_[peer]->outbox(peer) : nullptr;
  }
  LinkKind kind(int peer) const override {
    if (peer == rank_) return LinkKind::kSelf;
    return ways_[peer] ? ways_[peer]->kind(peer) : LinkKind::kNone;
  }
  std::string description(int peer) const override;
  void close(bool confirmed) noexcept override;

 private:
  std::vector<int> local_peers() const;
  void use(Way& way, const std::vector<int>& peers, const PairTable& failed);
  void tell_of_fallback(int peer, const PairTable::Entry& why) const;
  [[noreturn]] void give_up(const Config& config) const;
  void close_p2p(bool confirmed) noexcept;
  std::string pair_text(int peer) const;

  const std::vector<RankInfo> ranks_;
  const int rank_;
  const size_t box_bytes_;
  std::unique_ptr<Way> p2p_, shm_;
  TrialResult p2p_trial_, shm_trial_;
  std::vector<Way*> ways_;  // by peer; nullptr: none
};

std::vector<int> HostLinks::local_peers() const {
  std::vector<int> peers;
  for (int peer = 0; peer < static_cast<int>(ranks_.size()); ++peer)
    if (peer != rank_ && ranks_[peer].host_hash == ranks_[rank_].host_hash) peers.push_back(peer);
  return peers;
}

// Whether any host has two ranks: the same answer on all ranks.
bool any_neighbours(const std::vector<RankInfo>& ranks) {
  std::vector<uint64_t> hosts;
  for (const RankInfo& rank : ranks) hosts.push_back(rank.host_hash);
  std::ranges::sort(hosts);
  return std::ranges::adjacent_find(hosts) != hosts.end();
}

void HostLinks::connect(Bootstrap& bootstrap, const Config& config) {
  if (!any_neighbours(ranks_)) return;
  const LinkContext context{ranks_, rank_, box_bytes_, config};
  const std::vector<int> peers = local_peers();
  p2p_ = std::make_unique<P2pWay>(context);
  try_way(*p2p_, bootstrap, context, peers, p2p_trial_);
  const PairTable& no_p2p = p2p_trial_.failed;
  use(*p2p_, peers, no_p2p);
  if (no_p2p.empty()) return;

  std::vector<int> rest;
  std::ranges::copy_if(peers, std::back_inserter(rest),
                       [&](int peer) { return no_p2p.contains(rank_, peer); });
  if (rest.size() == peers.size()) close_p2p(true);
  shm_ = std::make_unique<ShmWay>(context);
  try_way(*shm_, bootstrap, context, rest, shm_trial_);
  shm_->settle();
  if (!shm_trial_.failed.empty()) give_up(config);
  use(*shm_, rest, shm_trial_.failed);
  for (const int peer : rest) tell_of_fallback(peer, no_p2p.at(rank_, peer));
}

void HostLinks::use(Way& way, const std::vector<int>& peers, const PairTable& failed) {
  for (const int peer : peers)
    if (!failed.contains(rank_, peer)) ways_[peer] = &way;
}

std::string HostLinks::pair_text(int peer) const {
  return fmt::format("{}[{:x}] -> {}[{:x}]", rank_, ranks_[rank_].bus_id, peer,
                     ranks_[peer].bus_id);
}

std::string HostLinks::description(int peer) const {
  if (!ways_[peer]) return "";
  return fmt::format("{} via {}", pair_text(peer), link_kind_text(kind(peer)));
}

void HostLinks::tell_of_fallback(int peer, const PairTable::Entry& why) const {
  const LinkKind wanted = p2p_->kind(peer);
  if (why.by_user) {
    log_info(Subsystem::kP2p, "{} not via {}: {}", pair_text(peer), link_kind_text(wanted),
             why.text);
    return;
  }
  log_warn(
      "{} via {} does not work ({}); using {} instead, which is slower. {}. NCCL_P2P_DISABLE=1 "
      "skips the attempt.",
      pair_text(peer), link_kind_text(wanted), why.text, link_kind_text(LinkKind::kShared),
      wanted == LinkKind::kIpc ? platform::ipc_remedy() : platform::peer_remedy());
}

void HostLinks::give_up(const Config& config) const {
  const auto& [pair, why] = *shm_trial_.failed.all().begin();
  const RankInfo& a = ranks_[pair.first];
  const RankInfo& b = ranks_[pair.second];
  fail(ncclSystemError,
       "rank {} ({} pid {}) and rank {} ({} pid {}) have no way to each other. P2P: {}. SHM: {}.{}",
       a.rank, a.host_name, a.pid, b.rank, b.host_name, b.pid,
       p2p_trial_.failed.at(pair.first, pair.second).text, why.text,
       config.host_id.empty() ? "" : " NCCL_HOSTID is set: is it the same on different hosts?");
}

// A way with a transfer of ours that never ended is left as it is: unmapping would wait for it.
void HostLinks::close_p2p(bool confirmed) noexcept {
  if (p2p_trial_.own_stuck) {
    (void)p2p_.release();
  } else if (p2p_) {
    p2p_->close(confirmed && !p2p_trial_.unsettled);
  }
}

void HostLinks::close(bool confirmed) noexcept {
  std::ranges::fill(ways_, nullptr);
  close_p2p(confirmed);
  if (shm_trial_.own_stuck) {
    (void)shm_.release();
  } else if (shm_) {
    shm_->close(confirmed);
  }
}

}  // namespace

const char* link_kind_text(LinkKind kind) {
  switch (kind) {
    case LinkKind::kNone:
      return "NET";
    case LinkKind::kSelf:
      return "self";
    case LinkKind::kDirect:
      return "P2P/direct pointer";
    case LinkKind::kIpc:
      return "P2P/IPC";
    case LinkKind::kShared:
      return "SHM/direct/direct";
  }
  return "?";
}

std::unique_ptr<Links> Links::connect(Bootstrap& bootstrap, const std::vector<RankInfo>& ranks,
                                      size_t box_bytes, const Config& config) {
  const int rank = bootstrap.rank();
  std::optional<DeviceScope> scope;
  const Failure failure = attempt([&] { scope.emplace(ranks[rank].device); });
  if (failure.code != ncclSuccess) {
    bootstrap.fail(failure.code, failure.text);
    throw Error(failure.code, failure.text);
  }
  auto links = std::make_unique<HostLinks>(ranks, rank, box_bytes);
  try {
    links->connect(bootstrap, config);
  } catch (...) {
    links->close(
        true);  // nobody has got an address to write to; what the trials left behind they know
    throw;
  }
  return links;
}

}  // namespace weft
