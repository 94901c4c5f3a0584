// The order of an init, and the contract's methods in terms of the tree. Next on the path:
// check_in.cc, then tree.cc.
#include "bootstrap/bootstrap.h"

#include <unistd.h>

#include <mutex>

#include "bootstrap/check_in.h"
#include "bootstrap/id_table.h"
#include "bootstrap/tree.h"
#include "bootstrap/unique_id.h"
#include "error.h"
#include "log.h"

namespace weft {
namespace {

// Descriptors one rank needs at most: edges, listeners, attempts, a few of strangers.
constexpr size_t kDescriptorsPerRank = 64;
constexpr milliseconds kPortPause{50};

// Opens the listeners of `endpoint` and fills in where they are. An interface chosen by name
// excludes the Unix socket: the user wants the traffic there.
std::vector<Fd> open_listeners(Endpoint& endpoint, const Config& config) {
  const InterfaceFilter filter(config.socket_ifname);
  const FamilyRule family = parse_family(config.socket_family);
  const PortRange range = parse_port_range(config.port_range);
  for (const auto& row : rank_interfaces(list_interfaces(), config.socket_ifname, family))
    endpoint.addresses.push_back(row.address);
  std::vector<Fd> listeners;
  listeners.push_back(listen_tcp(family, range, endpoint.port));
  if (filter.is_set() && !filter.excludes())
    endpoint.unix_name.clear();
  else
    listeners.push_back(listen_unix(endpoint.unix_name));
  return listeners;
}

std::string random_unix_name() {
  std::array<std::byte, 12> random;
  fill_random(random);
  return "weft-" + hex_text(random);
}

// A fixed port may still be held by the communicator before this one.
Fd listen_fixed(FamilyRule family, uint16_t port, const Wait& wait) {
  for (;;) {
    if (auto fd = listen_tcp_at(family, port)) return std::move(*fd);
    wait.check_interrupt();
    if (wait.expired())
      fail(ncclSystemError, "NCCL_COMM_ID: port {} is taken by another socket of this host", port);
    ::poll(nullptr, 0,
           static_cast<int>(kPortPause.count()));  // nothing tells when a port becomes free
  }
}

class TreeBootstrap : public Bootstrap {
 public:
  TreeBootstrap(int rank, int nranks, std::shared_ptr<const Config> config,
                const std::atomic<bool>* interrupted)
      : rank_(rank), nranks_(nranks), config_(std::move(config)), interrupted_(interrupted) {}

  void meet(const ncclUniqueId& bytes);

  int rank() const override { return rank_; }
  int size() const override { return nranks_; }
  void all_gather(void* all, size_t bytes_each) override;
  std::vector<std::string> all_gather_texts(const std::string& own) override;
  void barrier() override { tree_->gather(GatherKind::kBarrier, 0, "", wait()); }
  void send(int peer, uint32_t tag, std::span<const std::byte> message) override {
    tree_->send(peer, tag, message);
  }
  std::vector<std::byte> receive(int peer, uint32_t tag) override {
    return tree_->receive(peer, tag, wait());
  }
  bool try_receive(int peer, uint32_t tag, std::vector<std::byte>& message) override {
    auto taken = tree_->try_receive(peer, tag);
    if (taken) message = std::move(*taken);
    return taken.has_value();
  }
  void fail(ncclResult_t code, const std::string& reason) noexcept override {
    try {
      tree_->announce(code, reason);
    } catch (const std::exception&) {  // out of memory: the peers will see this rank's end instead
    }
  }
  std::vector<PeerEvent> poll_events() override { return tree_->take_events(); }
  void close(milliseconds limit) noexcept override {
    try {
      tree_->close(limit);
    } catch (const std::exception&) {  // as above
    }
  }

 private:
  Wait wait() const { return Wait::within(config_->init_timeout, interrupted_); }
  Meeting meeting_of(const ncclUniqueId& bytes, const UniqueId& id, const Wait& wait);
  void form(const Wait& wait, const std::optional<Card>& parent, const Meeting& meeting,
            const Card& own);

  int rank_, nranks_;
  std::shared_ptr<const Config> config_;
  const std::atomic<bool>* interrupted_;
  std::unique_ptr<RootService>
      own_root_;  // rank 0 of a fixed address; its thread ends with the init
  std::unique_ptr<Tree> tree_;
};

// Where to meet. For a fixed address rank 0 starts the root service, which lives in `own_root_` for
// the time of the init.
Meeting TreeBootstrap::meeting_of(const ncclUniqueId& bytes, const UniqueId& id, const Wait& wait) {
  const FamilyRule family = parse_family(config_->socket_family);
  Meeting meeting{unique_id_label(bytes),
                  id.nonce,
                  id.kind == IdKind::kMinted,
                  {},
                  handshake_key(id, *config_)};
  const std::string name = "the root of " + meeting.label;
  if (meeting.minted) {
    meeting.target = dial_target(name, id.endpoint, place_hash(), family);
    return meeting;
  }
  const HostPort where = parse_host_port(id.fixed_where);
  meeting.target = {name + " (NCCL_COMM_ID=" + id.fixed_where + ")", {}, false, false};
  if (rank_ != 0) {
    meeting.target.candidates = resolve(where, family);
    return meeting;
  }
  RootService::Options options;
  options.listeners.push_back(listen_fixed(family, where.port, wait));
  options.key = meeting.key;
  options.comm = id.nonce;
  options.label = meeting.label;
  options.timeout = config_->init_timeout;
  own_root_ = std::make_unique<RootService>(std::move(options));
  // The given address may be one that others see and this host does not (address translation).
  Endpoint here;
  here.place = place_hash();
  here.port = where.port;
  meeting.target.candidates = dial_target("", here, here.place, family).candidates;
  return meeting;
}

void TreeBootstrap::meet(const ncclUniqueId& bytes) {
  const Wait wait = this->wait();
  const UniqueId id = UniqueId::decode(bytes);
  ensure_descriptors(kDescriptorsPerRank);
  const Meeting meeting = meeting_of(bytes, id, wait);
  Card card;
  card.rank = static_cast<uint32_t>(rank_);
  card.nranks = static_cast<uint32_t>(nranks_);
  card.library = NCCL_VERSION_CODE;
  card.pid = static_cast<uint64_t>(getpid());
  card.host = host_name();
  card.endpoint.place = place_hash();
  card.endpoint.unix_name = random_unix_name();
  std::vector<Fd> listeners;
  try {
    listeners = open_listeners(card.endpoint, *config_);
  } catch (const Error& error) {
    check_in_failure(meeting, card, error);
    throw;
  }
  if (!meeting.minted && rank_ != 0 && config_->socket_ifname.empty())
    for (const auto& target : meeting.target.candidates)
      if (auto source = route_source(target)) {
        std::erase(card.endpoint.addresses, *source);
        card.endpoint.addresses.insert(card.endpoint.addresses.begin(), *source);
      }
  CheckedIn met = check_in(meeting, card, wait);
  const auto parent = met.verdict.parent;
  tree_ = std::make_unique<Tree>(Tree::Setup{card, parent, meeting.key, meeting.nonce,
                                             std::move(listeners), std::move(met.root)});
  try {
    form(wait, parent, meeting, card);
  } catch (const Error& error) {
    fail(error.code(), error.text());
    throw;
  }
}

// Connects to the parent, waits for the children, and makes sure that everybody got this far.
void TreeBootstrap::form(const Wait& wait, const std::optional<Card>& parent,
                         const Meeting& meeting, const Card& own) {
  Wait while_useful = wait;
  while_useful.pointless = &tree_->failed();
  if (parent) {
    const auto target = dial_target(parent->text(), parent->endpoint, own.endpoint.place,
                                    parse_family(config_->socket_family));
    DialResult result{};
    try {
      result = dial(target, meeting.key, hello_of(own, Purpose::kEdge, meeting.nonce, parent->rank),
                    while_useful);
    } catch (const Error&) {
      tree_->check();
      throw;
    }
    tree_->check();
    if (result.outcome != DialResult::Outcome::kConnected)
      weft::fail(ncclSystemError, "{} cannot reach {}: {}", own.text(), parent->text(),
                 result.text);
    tree_->adopt_parent(std::move(result.stream));
  }
  tree_->wait_formed(wait);
  tree_->gather(GatherKind::kBarrier, 0, "", wait);
  tree_->finish_forming();
  log_info(Subsystem::kBootstrap, "Bootstrap: rank {} of {} connected, id {}", rank_, nranks_,
           meeting.label);
}

void TreeBootstrap::all_gather(void* all, size_t bytes_each) {
  if (bytes_each > kMaxMessageBytes)
    weft::fail(ncclInvalidArgument, "all_gather of {} bytes a rank exceeds the limit of {}",
               bytes_each, kMaxMessageBytes);
  char* out = static_cast<char*>(all);
  std::string own(out + static_cast<size_t>(rank_) * bytes_each, bytes_each);
  const auto texts = tree_->gather(GatherKind::kFixed, bytes_each, std::move(own), wait());
  for (size_t rank = 0; rank < texts.size(); rank++) {
    if (texts[rank].size() != bytes_each)
      weft::fail(ncclInternalError, "rank {} sent {} bytes to an all_gather of {}", rank,
                 texts[rank].size(), bytes_each);
    if (static_cast<int>(rank) != rank_)
      std::memcpy(out + rank * bytes_each, texts[rank].data(), bytes_each);
  }
}

std::vector<std::string> TreeBootstrap::all_gather_texts(const std::string& own) {
  if (own.size() > kMaxMessageBytes)
    weft::fail(ncclInvalidArgument, "a text of {} bytes exceeds the limit of {}", own.size(),
               kMaxMessageBytes);
  return tree_->gather(GatherKind::kTexts, 0, own, wait());
}

}  // namespace

ncclUniqueId create_unique_id(const Config& config) {
  if (!config.comm_id.empty()) return fixed_unique_id(config.comm_id).encode();
  ensure_descriptors(kDescriptorsPerRank);
  UniqueId id = mint_unique_id();
  RootService::Options options;
  options.listeners = open_listeners(id.endpoint, config);
  options.key = handshake_key(id, config);
  options.comm = id.nonce;
  options.timeout = config.init_timeout;
  const ncclUniqueId bytes = id.encode();
  options.label = unique_id_label(bytes);
  keep_root(id.nonce, std::make_unique<RootService>(std::move(options)));
  return bytes;
}

std::unique_ptr<Bootstrap> Bootstrap::connect(const ncclUniqueId& id, int rank, int nranks,
                                              std::shared_ptr<const Config> config,
                                              const std::atomic<bool>* interrupted) {
  if (nranks < 1 || rank < 0 || rank >= nranks)
    weft::fail(ncclInvalidArgument,
               "rank {} of {} ranks: a rank is at least 0 and less than their number", rank,
               nranks);
  auto bootstrap = std::make_unique<TreeBootstrap>(rank, nranks, std::move(config), interrupted);
  bootstrap->meet(id);
  return bootstrap;
}

uint64_t bootstrap_strangers_dropped() noexcept { return strangers_dropped(); }

}  // namespace weft
