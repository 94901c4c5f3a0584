// Accepting, handshaking, dropping. Invariants 1 and 3 of README.md live here.
#include "bootstrap/acceptor.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "log.h"

namespace weft {
namespace {

// A genuine rank needs two round trips; one on a host so loaded that it needs longer is dropped and
// dials again.
constexpr milliseconds kHandshakeLimit{5000};
// Whoever has the key is owed more patience: a dialler that has chosen a connection does not dial
// again.
constexpr milliseconds kProvedLimit{60'000};
constexpr milliseconds kDescriptorPause{100};
constexpr size_t kGenuineFactor = 16;

std::atomic<uint64_t> strangers{0};

}  // namespace

uint64_t strangers_dropped() noexcept { return strangers.load(std::memory_order_relaxed); }

Acceptor::Acceptor(std::vector<Fd> listeners, const AcceptorHandshake::Self& self,
                   size_t max_pending)
    : listeners_(std::move(listeners)), self_(self), max_pending_(max_pending) {}

void Acceptor::fill_poll(std::vector<pollfd>& set) const {
  const bool listening = Clock::now() >= listen_again_;
  for (const auto& listener : listeners_)
    set.push_back({listening ? listener.get() : -1, POLLIN, 0});
  for (const auto& pending : pending_) {
    const int fd = pending.proved ? pending.stream.poll_fd() : pending.fd.get();
    const auto events = static_cast<short>(pending.out.empty() ? POLLIN : POLLIN | POLLOUT);
    set.push_back({fd, events, 0});
  }
}

Acceptor::Arrivals Acceptor::progress(std::span<const pollfd> set) {
  Arrivals arrivals;
  const auto now = Clock::now();
  size_t at = listeners_.size();
  for (auto it = pending_.begin(); it != pending_.end(); at++) {
    const auto pending = it++;
    const bool ready = at < set.size() && set[at].revents != 0;
    const Fate fate = ready ? advance(*pending, arrivals) : Fate::kStays;
    if (fate == Fate::kAccepted) {
      pending_.erase(pending);
    } else if (fate == Fate::kLeaves || now >= pending->deadline) {
      drop(pending);
    }
  }
  for (size_t i = 0; i < listeners_.size() && i < set.size(); i++)
    if (set[i].revents != 0) accept_all(listeners_[i], arrivals);
  return arrivals;
}

Clock::time_point Acceptor::next_deadline() const {
  auto next = Clock::time_point::max();
  if (Clock::now() < listen_again_) next = listen_again_;
  for (const auto& pending : pending_) next = std::min(next, pending.deadline);
  return next;
}

void Acceptor::close() {
  while (!pending_.empty()) drop(pending_.begin());
  listeners_.clear();
}

void Acceptor::drop(PendingList::iterator at) {
  if (!at->genuine) {
    strangers.fetch_add(1, std::memory_order_relaxed);
    log_info(Subsystem::kBootstrap,
             "Bootstrap: dropped a connection that did not prove it belongs to this communicator");
  }
  pending_.erase(at);
}

void Acceptor::accept_all(const Fd& listener, Arrivals& arrivals) {
  for (;;) {
    auto [fd, error] = accept_one(listener);
    if (!fd && error == 0) return;
    if (!fd) {
      ensure_descriptors(max_pending_);
      // Out of descriptors: the oldest unproved connection makes room, else pause instead of
      // spinning on the listener.
      if (!pending_.empty()) {
        drop(pending_.begin());
        continue;
      }
      log_warn("Bootstrap: cannot accept a connection: {} (raise `ulimit -n`?)", strerror(error));
      listen_again_ = Clock::now() + kDescriptorPause;
      return;
    }
    make_room();
    pending_.emplace_back(std::move(fd), AcceptorHandshake(self_), Clock::now() + kHandshakeLimit);
    // Its hello is often there already: read at once, a genuine rank is known before the next
    // stranger needs a slot.
    const auto last = std::prev(pending_.end());
    const Fate fate = advance(*last, arrivals);
    if (fate == Fate::kAccepted) pending_.erase(last);
    if (fate == Fate::kLeaves) drop(last);
  }
}

// Keyed hellos are not counted against the strangers' slots, but a replayed one must not fill the
// memory either.
void Acceptor::make_room() {
  if (pending_.size() < max_pending_) return;
  const auto is_stranger = [](const Pending& pending) { return !pending.genuine; };
  const auto strangers = std::count_if(pending_.begin(), pending_.end(), is_stranger);
  if (static_cast<size_t>(strangers) >= max_pending_)
    drop(std::find_if(pending_.begin(), pending_.end(), is_stranger));
  else if (pending_.size() >= kGenuineFactor * max_pending_)
    drop(pending_.begin());
}

bool Acceptor::send_out(Pending& pending) {
  while (!pending.out.empty()) {
    const auto sent = send_some(pending.fd, pending.out);
    if (sent.error == EAGAIN) return true;
    if (sent.error) return false;
    pending.out.erase(pending.out.begin(),
                      pending.out.begin() + static_cast<ptrdiff_t>(sent.bytes));
  }
  return true;
}

Acceptor::Fate Acceptor::advance(Pending& pending, Arrivals& arrivals) {
  if (pending.proved) return read_first_frame(pending, arrivals);
  if (!send_out(pending)) return Fate::kLeaves;
  if (pending.last_words) return pending.out.empty() ? Fate::kLeaves : Fate::kStays;
  return shake(pending, arrivals);
}

Acceptor::Fate Acceptor::shake(Pending& pending, Arrivals& arrivals) {
  for (;;) {
    const size_t have = pending.in.size(), wants = pending.shake.wants();
    pending.in.resize(wants);
    const auto got = receive_some(pending.fd, std::span(pending.in).subspan(have));
    pending.in.resize(have + got.bytes);
    if (got.error == EAGAIN) return Fate::kStays;
    if (got.error || got.bytes == 0) return Fate::kLeaves;
    if (pending.in.size() < wants) continue;
    const Shake result = pending.shake.feed(pending.in);
    pending.in.clear();
    const auto output = pending.shake.output();
    pending.out.insert(pending.out.end(), output.begin(), output.end());
    if (!send_out(pending)) return Fate::kLeaves;
    if (result == Shake::kDone) break;
    pending.genuine = result == Shake::kContinue || result == Shake::kOtherVersion;
    if (result == Shake::kOtherVersion) arrivals.other_versions.push_back({pending.shake.hello()});
    if (result == Shake::kContinue) continue;
    pending.last_words = true;
    return pending.out.empty() ? Fate::kLeaves : Fate::kStays;
  }
  pending.proved = true;
  pending.deadline = Clock::now() + kProvedLimit;
  pending.stream = Stream(std::move(pending.fd), kMaxMeetingBytes);
  return read_first_frame(pending, arrivals);
}

Acceptor::Fate Acceptor::read_first_frame(Pending& pending, Arrivals& arrivals) {
  Frame frame;
  const auto result = pending.stream.read(frame);
  if (result == Stream::Read::kNothing) return Fate::kStays;
  if (result != Stream::Read::kFrame) return Fate::kLeaves;
  arrivals.accepted.push_back({std::move(pending.stream), pending.shake.hello(), std::move(frame)});
  return Fate::kAccepted;
}

}  // namespace weft
