// The callers' side of the tree: gathers, mail, giving up, leaving. The thread's side is
// tree_loop.cc.
#include "bootstrap/tree.h"

#include "error.h"
#include "log.h"

namespace weft {
namespace {
// A rank has at most kTreeArity children; strangers beyond this are dropped, oldest first.
constexpr size_t kMaxStrangers = 128;
}  // namespace

Tree::Tree(Setup setup)
    : setup_(std::move(setup)),
      shape_(tree_shape(static_cast<int>(setup_.own.rank), static_cast<int>(setup_.own.nranks))),
      acceptor_(std::move(setup_.listeners),
                {setup_.key, setup_.comm, Purpose::kEdge, setup_.own.rank, NCCL_VERSION_CODE},
                kMaxStrangers),
      edges_(edges_of(shape_, setup_.parent)),
      rounds_(shape_),
      thread_("weft-boot", [this] { loop(); }) {}

std::vector<Tree::Edge> Tree::edges_of(const TreeShape& shape, const std::optional<Card>& parent) {
  std::vector<Edge> edges;
  auto add = [&](int rank, std::string name) {
    edges.emplace_back();
    edges.back().rank = rank;
    edges.back().name = std::move(name);
  };
  for (const auto& child : shape.children) add(child.first, fmt::format("rank {}", child.first));
  if (shape.parent >= 0)
    add(shape.parent, parent ? parent->text() : fmt::format("rank {}", shape.parent));
  return edges;
}

Tree::~Tree() {
  {
    Lock lock(mutex_);
    stop_ = true;
  }
  wake_.wake();
  thread_.join();
}

void Tree::check() {
  Lock lock(mutex_);
  check_locked();
}

void Tree::check_locked() const {
  if (failure_) throw Error(failure_->code, failure_->text);
  if (phase_ >= Phase::kClosing) fail(ncclInvalidUsage, "the bootstrap of this rank is closed");
}

void Tree::wait_change(Lock& lock, const Wait& wait) {
  wait.check_interrupt();
  changed_.wait_until(lock, wait.next_look());
}

Tree::Edge* Tree::edge_to(int rank) {
  for (auto& edge : edges_)
    if (edge.rank == rank) return &edge;
  return nullptr;
}

void Tree::post(Edge& edge, SharedBytes frame) {
  if (!edge.stream.fd() || edge.write_ended) return;
  edge.stream.queue(std::move(frame));
  // A broken connection shows when the thread polls it.
  edge.stream.flush();
  if (edge.stream.wants_write()) wake_.wake();
}

void Tree::adopt_parent(Stream stream) {
  Lock lock(mutex_);
  Edge& edge = edges_.back();
  stream.allow_payload(kMaxEdgeBytes);
  edge.stream = std::move(stream);
  edge.connected = true;
  post(edge, std::make_shared<const Bytes>(
                 frame_bytes(FrameType::kEdge, weft::Edge{setup_.own}.encode())));
  wake_.wake();
}

void Tree::wait_formed(const Wait& wait) {
  Lock lock(mutex_);
  for (;;) {
    check_locked();
    std::string missing;
    for (const auto& edge : edges_)
      if (!edge.connected) missing += (missing.empty() ? "" : ", ") + edge.name;
    if (missing.empty()) return;
    if (wait.expired())
      fail(ncclSystemError, "{} waited in vain for connections from {} to its port {}", own_name(),
           missing, setup_.own.endpoint.port);
    wait_change(lock, wait);
  }
}

void Tree::finish_forming() {
  Lock lock(mutex_);
  phase_ = Phase::kOpen;
  tell_root({setup_.own.rank, ncclSuccess, "", false});
  wake_.wake();  // the thread closes the listeners
}

std::string Tree::late_text(uint64_t round) const {
  std::string text;
  for (const auto& range : rounds_.missing(round))
    text += fmt::format("{}{}", text.empty() ? "nothing yet from " : ", ",
                        range.size() == 1 ? fmt::format("rank {}", range.first)
                                          : fmt::format("ranks {}-{} (by way of rank {})",
                                                        range.first, range.last - 1, range.first));
  return text.empty()
             ? fmt::format("no result yet from rank {}, which waits for others", shape_.parent)
             : text;
}

std::vector<std::string> Tree::gather(GatherKind kind, uint64_t bytes_each, std::string own,
                                      const Wait& wait) {
  Lock lock(mutex_);
  check_locked();
  const uint64_t round = rounds_.add_own(kind, bytes_each, std::move(own));
  advance(round);
  for (;;) {
    if (auto done = results_.extract(round)) return std::move(done.mapped().texts);
    check_locked();
    if (!left_.empty())
      fail(ncclRemoteError, "rank {} has left the communicator, a collective call cannot complete",
           *left_.begin());
    if (wait.expired())
      fail(ncclSystemError, "rank {}: {} timed out: {}", shape_.rank,
           Gather{round, kind, bytes_each, {}}.call_text(), late_text(round));
    wait_change(lock, wait);
  }
}

// Sends the subtree's part up when it is complete, or at rank 0 the whole down.
void Tree::advance(uint64_t round) {
  std::optional<Gather> joined;
  try {
    joined = rounds_.take_complete(round);
  } catch (const Error& error) {  // ranks made different calls: all must know
    set_failure(error.code(), error.text());
    return flood({setup_.own.rank, error.code(), error.text(), false}, nullptr);
  }
  if (!joined) return;
  const auto type = shape_.parent >= 0 ? FrameType::kGatherUp : FrameType::kGatherDown;
  auto frame = std::make_shared<const Bytes>(frame_bytes(type, joined->encode()));
  if (shape_.parent >= 0) return post(edges_.back(), frame);
  for (auto& edge : edges_) post(edge, frame);
  results_.emplace(round, std::move(*joined));
  changed_.notify_all();
}

void Tree::check_peer(int peer) const {
  check_locked();
  check_reachable(peer);
}

void Tree::check_reachable(int peer) const {
  if (peer < 0 || peer >= static_cast<int>(setup_.own.nranks))
    fail(ncclInvalidArgument, "rank {} does not exist, the communicator has {}", peer,
         setup_.own.nranks);
  if (left_.empty()) return;
  if (left_.contains(peer)) fail(ncclRemoteError, "rank {} has left the communicator", peer);
  for (int between : tree_path(shape_.rank, peer, static_cast<int>(setup_.own.nranks)))
    if (left_.contains(between))
      fail(ncclRemoteError, "rank {} has left the communicator, rank {} cannot be reached any more",
           between, peer);
}

void Tree::send(int peer, uint32_t tag, ByteSpan message) {
  if (message.size() > kMaxMessageBytes)
    fail(ncclInvalidArgument, "a message of {} bytes exceeds the limit of {}", message.size(),
         kMaxMessageBytes);
  Lock lock(mutex_);
  // Not failure_: ranks still say goodbye to each other after one of them gave up.
  if (phase_ >= Phase::kClosing) fail(ncclInvalidUsage, "the bootstrap of this rank is closed");
  check_reachable(peer);
  if (peer == shape_.rank) {
    mailbox_.put(peer, tag, {message.begin(), message.end()});
    return changed_.notify_all();
  }
  const Mail mail{
      setup_.own.rank, static_cast<uint32_t>(peer), tag, {message.begin(), message.end()}};
  post(*edge_to(shape_.next_hop(peer)),
       std::make_shared<const Bytes>(frame_bytes(FrameType::kMail, mail.encode())));
}

Bytes Tree::receive(int peer, uint32_t tag, const Wait& wait) {
  Lock lock(mutex_);
  for (;;) {
    if (auto body = mailbox_.take(peer, tag)) return std::move(*body);
    check_peer(peer);
    if (wait.expired())
      fail(ncclSystemError, "rank {}: no message from rank {} (tag {}) in time", shape_.rank, peer,
           tag);
    wait_change(lock, wait);
  }
}

std::optional<Bytes> Tree::try_receive(int peer, uint32_t tag) {
  Lock lock(mutex_);
  return mailbox_.take(peer, tag);
}

void Tree::set_failure(ncclResult_t code, const std::string& text) {
  if (!failure_) failure_ = Failure{code, text};
  failed_ = true;
  changed_.notify_all();
}

void Tree::flood(const Notice& notice, const Edge* except) {
  auto frame = std::make_shared<const Bytes>(frame_bytes(FrameType::kNotice, notice.encode()));
  for (auto& edge : edges_)
    if (&edge != except) post(edge, frame);
  // While the tree is incomplete the root reaches those that the tree does not.
  if (phase_ == Phase::kForming && !except) tell_root(notice);
}

void Tree::tell_root(const Notice& notice) {
  if (std::exchange(root_excused_, true) || !setup_.root.fd()) return;
  setup_.root.queue(FrameType::kNotice, notice.encode());
  setup_.root.flush();
  wake_.wake();
}

void Tree::announce(ncclResult_t code, const std::string& reason) {
  Lock lock(mutex_);
  // A rank that stops because of another's trouble must not look like a death to the root.
  if (failure_ && phase_ == Phase::kForming)
    tell_root({setup_.own.rank, failure_->code, failure_->text, false});
  if (failure_ || phase_ >= Phase::kClosing) return;
  const std::string text = fmt::format("{}: {}", own_name(), reason);
  set_failure(code, text);
  flood({setup_.own.rank, code == ncclSuccess ? ncclInternalError : code, text, false}, nullptr);
}

std::vector<Bootstrap::PeerEvent> Tree::take_events() {
  Lock lock(mutex_);
  return std::exchange(events_, {});
}

void Tree::close(milliseconds limit) {
  Lock lock(mutex_);
  if (phase_ < Phase::kClosing) {
    flood({setup_.own.rank, ncclSuccess, own_name() + " left", false}, nullptr);
    phase_ = Phase::kClosing;
    closing_deadline_ = Clock::now() + limit;
    wake_.wake();
  }
  while (phase_ != Phase::kClosed) changed_.wait(lock);
}

}  // namespace weft
