// One way to reach the memory of other ranks of this host: what P2P (p2p.h) and shared host memory
// (shm.h) have in common. Owns: the interface, and the table of pairs that a way does not serve.
// Next on the path of an init: trial.h, which runs a way through its steps together with the peers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/links.h"

namespace weft {

// Why a rank does not use a way with a peer.
struct Refusal {
  std::string text;
  bool by_user;  // a variable says so: nothing to warn of
};
using Refusals = std::map<int, Refusal>;  // by peer

// Pairs of ranks that a way does not serve. Made from gathered data only, so it is the same on all
// ranks.
class PairTable {
 public:
  void add(int rank, int peer, const Refusal& refusal) {
    Entry& entry = pairs_[std::minmax(rank, peer)];
    if (!entry.text.empty()) entry.text += "; ";
    entry.text += "rank " + std::to_string(rank) + ": " + refusal.text;
    entry.by_user = entry.by_user || refusal.by_user;
  }
  bool empty() const { return pairs_.empty(); }
  bool contains(int rank, int peer) const { return pairs_.contains(std::minmax(rank, peer)); }

  struct Entry {
    std::string text;
    bool by_user = false;
  };
  const Entry& at(int rank, int peer) const { return pairs_.at(std::minmax(rank, peer)); }
  // Pairs (lower rank, higher rank), in order.
  const std::map<std::pair<int, int>, Entry>& all() const { return pairs_; }

 private:
  std::map<std::pair<int, int>, Entry> pairs_;
};

// What the ways need to know about the communicator.
struct LinkContext {
  const std::vector<RankInfo>& ranks;
  int rank;
  size_t box_bytes;  // a multiple of the page size
  const Config& config;

  const RankInfo& self() const { return ranks[rank]; }
  bool same_process(int peer) const { return ranks[peer].process_hash == self().process_hash; }
};

// Steps are called in this order, by one thread, with this rank's device current.
class Way {
 public:
  virtual ~Way() = default;
  virtual LinkKind kind(int peer) const = 0;

  // Makes zeroed inboxes for those of `peers` that this rank is willing to serve; the others get a
  // refusal. Throws what ends the whole init.
  virtual void prepare(const std::vector<int>& peers, Refusals& refusals) = 0;
  // What peers need to map the inboxes prepared here; given to every peer, whatever its process.
  virtual std::string offer() const = 0;
  // Maps this rank's box in the memory that `peer` offered. nullptr, and `error` says why.
  virtual void* map(int peer, std::string_view offer, std::string& error) = 0;

  virtual void* inbox(int peer) const = 0;   // nullptr: none prepared
  virtual void* outbox(int peer) const = 0;  // nullptr: not mapped
  virtual void unmap(int peer) noexcept = 0;
  // What only the init needs (descriptors, threads) goes.
  virtual void settle() noexcept {}
  // See Links::close.
  virtual void close(bool confirmed) noexcept = 0;
};

}  // namespace weft
