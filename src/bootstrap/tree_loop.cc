// The thread's side of the tree: polling the edges, taking frames, noticing ends. The callers' side
// is tree.cc.
#include "bootstrap/tree.h"
#include "log.h"

namespace weft {

void Tree::loop() {
  Lock lock(mutex_);
  while (step(lock)) {
  }
  acceptor_.close();
  setup_.root.close();
  for (auto& edge : edges_) edge.stream.close();
  phase_ = Phase::kClosed;
  changed_.notify_all();
}

// One round of polling. False: this thread's work is over.
bool Tree::step(Lock& lock) {
  if (stop_ || (phase_ == Phase::kClosing && closing_done())) return false;
  if (phase_ != Phase::kForming) acceptor_.close();
  std::vector<pollfd> set{{wake_.fd(), POLLIN, 0}};
  auto add = [&](const Stream& stream) {
    set.push_back({stream.poll_fd(),
                   static_cast<short>(stream.wants_write() ? POLLIN | POLLOUT : POLLIN), 0});
  };
  add(setup_.root);
  for (const auto& edge : edges_) add(edge.stream);
  const size_t acceptor_at = set.size();
  acceptor_.fill_poll(set);
  const auto until = phase_ == Phase::kClosing ? closing_deadline_ : acceptor_.next_deadline();
  lock.unlock();
  const int ready = ::poll(set.data(), set.size(), poll_timeout_ms(until));
  lock.lock();
  if (ready < 0) return true;  // EINTR, ENOMEM: again
  if (set[0].revents) wake_.drain();
  if (set[1].revents) serve_root();
  for (size_t i = 0; i < edges_.size(); i++)
    if (set[i + 2].revents) serve(edges_[i]);
  on_arrivals(acceptor_.progress(std::span(set).subspan(acceptor_at)));
  return true;
}

// Ends the writing side of each edge once all is sent, and waits for the peer to do the same:
// closing with unread bytes would reset the connection and could take the goodbye with it.
bool Tree::closing_done() {
  bool done = !setup_.root.wants_write();
  for (auto& edge : edges_) {
    if (!edge.stream.fd()) continue;
    done = false;
    if (edge.stream.wants_write() || edge.write_ended) continue;
    edge.stream.end_writing();
    edge.write_ended = true;
  }
  return done || Clock::now() >= closing_deadline_;
}

void Tree::serve(Edge& edge) {
  if (!edge.stream.fd()) return;
  if (!edge.stream.flush()) return on_end(edge, edge.stream.error_text());
  Frame frame;
  for (;;) {
    const auto result = edge.stream.read(frame);
    if (result == Stream::Read::kNothing) return;
    if (result == Stream::Read::kEnded) return on_end(edge, "connection closed");
    if (result == Stream::Read::kBroken) return on_end(edge, edge.stream.error_text());
    if (!on_frame(edge, frame)) return on_end(edge, "sent a message that makes no sense");
  }
}

bool Tree::on_frame(Edge& edge, Frame& frame) {
  if (frame.type == FrameType::kMail) return on_mail(frame);
  if (frame.type == FrameType::kGatherUp) return on_gather_up(edge, frame);
  if (frame.type == FrameType::kGatherDown) return on_gather_down(edge, frame);
  const auto notice = Notice::parse(frame.payload);
  if (frame.type != FrameType::kNotice || !notice) return false;
  on_notice(&edge, *notice);
  return true;
}

bool Tree::on_mail(Frame& frame) {
  auto mail = Mail::parse(frame.payload);
  if (!mail || mail->from >= setup_.own.nranks || mail->to >= setup_.own.nranks) return false;
  const int to = static_cast<int>(mail->to);
  if (to == shape_.rank) {
    mailbox_.put(static_cast<int>(mail->from), mail->tag, std::move(mail->body));
    changed_.notify_all();
    return true;
  }
  post(*edge_to(shape_.next_hop(to)),
       std::make_shared<const Bytes>(frame_bytes(FrameType::kMail, frame.payload)));
  return true;
}

bool Tree::on_gather_up(Edge& edge, const Frame& frame) {
  const size_t child = static_cast<size_t>(&edge - edges_.data());
  auto part = Gather::parse(frame.payload);
  if (!part || child >= shape_.children.size()) return false;
  const uint64_t round = part->round;
  if (!rounds_.add_child(child, std::move(*part))) return false;
  advance(round);
  return true;
}

bool Tree::on_gather_down(Edge& edge, Frame& frame) {
  auto result = Gather::parse(frame.payload);
  if (!result || edge.rank != shape_.parent || result->texts.size() != setup_.own.nranks)
    return false;
  auto forward = std::make_shared<const Bytes>(frame_bytes(FrameType::kGatherDown, frame.payload));
  for (size_t i = 0; i < shape_.children.size(); i++) post(edges_[i], forward);
  results_.emplace(result->round, std::move(*result));
  changed_.notify_all();
  return true;
}

void Tree::on_notice(Edge* from, const Notice& notice) {
  const int rank = static_cast<int>(notice.rank);
  if (from) {
    flood(notice, from);
    if (from->rank == rank) from->excused = true;
  }
  if (notice.code == ncclSuccess) {
    if (left_.insert(rank).second) events_.push_back({rank, ncclSuccess, notice.text, false});
    return changed_.notify_all();
  }
  if (from && !lost_.insert(rank).second) return;
  log_info(Subsystem::kBootstrap, "Bootstrap: {}", notice.text);
  events_.push_back({from ? rank : -1, ncclRemoteError, notice.text, notice.gone});
  set_failure(ncclRemoteError, notice.text);
}

void Tree::on_end(Edge& edge, const std::string& why) {
  edge.stream.close();
  if (std::exchange(edge.excused, true) || phase_ >= Phase::kClosing) return;
  const Notice notice{static_cast<uint32_t>(edge.rank), ncclRemoteError,
                      fmt::format("{} ended without a goodbye ({}), as seen by rank {}", edge.name,
                                  why, shape_.rank),
                      true};
  flood(notice, &edge);
  if (!lost_.insert(edge.rank).second) return;
  log_info(Subsystem::kBootstrap, "Bootstrap: {}", notice.text);
  events_.push_back({edge.rank, ncclRemoteError, notice.text, true});
  set_failure(ncclRemoteError, notice.text);
}

// While forming, the root says when the init failed elsewhere.
void Tree::serve_root() {
  Stream& root = setup_.root;
  Frame frame;
  auto result = root.flush() ? root.read(frame) : Stream::Read::kBroken;
  for (; result == Stream::Read::kFrame; result = root.read(frame)) {
    const auto notice = Notice::parse(frame.payload);
    if (frame.type != FrameType::kNotice || !notice || root_excused_) continue;
    root_excused_ = true;
    on_notice(nullptr, *notice);
  }
  if (result == Stream::Read::kNothing) return;
  // Without the root nobody relays trouble any more, but the tree can be completed: the rank 0
  // process of a fixed address may be done with its init, and gone, before this rank is.
  root.close();
  root_excused_ = true;
}

void Tree::on_arrivals(Acceptor::Arrivals arrivals) {
  for (auto& arrival : arrivals.accepted) {
    Edge* edge = edge_to(static_cast<int>(arrival.hello.rank));
    const auto message = weft::Edge::parse(arrival.first.payload);
    const bool fits = edge && message && arrival.first.type == FrameType::kEdge &&
                      !edge->connected && edge->rank != shape_.parent &&
                      message->child.rank == arrival.hello.rank;
    if (!fits) continue;
    edge->name = message->child.text();
    arrival.stream.allow_payload(kMaxEdgeBytes);
    edge->stream = std::move(arrival.stream);
    edge->connected = true;
    changed_.notify_all();
    serve(*edge);  // it may have sent more already
  }
  for (const auto& arrival : arrivals.other_versions)
    set_failure(ncclInvalidUsage,
                fmt::format("rank {} speaks {}, rank {} speaks {}: all ranks need the same library",
                            arrival.hello.rank,
                            version_text({arrival.hello.version, arrival.hello.library}),
                            shape_.rank, version_text({kWireVersion, NCCL_VERSION_CODE})));
}

}  // namespace weft
