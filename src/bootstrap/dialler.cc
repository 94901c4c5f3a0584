// Raced connection attempts. Each candidate starts a little after the one before it, or at once
// when that has failed.
#include "bootstrap/dialler.h"

#include <netinet/in.h>
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "log.h"

namespace weft {
namespace {

constexpr milliseconds kStagger{150};          // head start of a better candidate
constexpr milliseconds kShakeHeadStart{1000};  // of one that is connected
constexpr milliseconds kAttemptLimit{
    8000};  // connect and handshake; SYNs are repeated after 1, 3 and 7 s
constexpr milliseconds kFirstPause{50}, kLongestPause{1000};
// Somebody else may own the address that refused (the same bridge address on every host); so long
// the others may answer.
constexpr milliseconds kGoneLimit{2000};

struct Attempt {
  const SocketAddress* to;
  enum class State { kWaiting, kConnecting, kShaking } state = State::kWaiting;
  Clock::time_point act_at{};  // kWaiting: start then; else: give up then
  milliseconds pause = kFirstPause;
  Fd fd;
  std::optional<DiallerHandshake> shake;
  Bytes in, out;
  std::string last_error;
  bool refused = false;   // the last try got a clear no
  bool no_route = false;  // and it came from this host: no such family, no route
};

class Race {
 public:
  Race(const DialTarget& target, const Key& key, const Hello& hello)
      : target_(target), key_(key), hello_(hello) {
    auto at = started_;
    for (const auto& candidate : target.candidates) {
      attempts_.push_back({});
      attempts_.back().to = &candidate;
      attempts_.back().act_at = at;
      at += kStagger;
    }
  }

  DialResult run(const Wait& wait) {
    while (!result_) {
      wait.check_interrupt();
      if (wait.expired()) return finish(DialResult::Outcome::kDeadline);
      for (auto& attempt : attempts_)
        if (!result_ && Clock::now() >= attempt.act_at) act(attempt);
      if (!result_ && is_gone())
        return finish(no_route() ? DialResult::Outcome::kNoRoute : DialResult::Outcome::kGone);
      if (!result_) poll_once(wait);
    }
    return std::move(*result_);
  }

 private:
  void act(Attempt& attempt) {
    if (attempt.state == Attempt::State::kWaiting)
      start(attempt);
    else
      lose(attempt, "no answer (blocked by a firewall, or not reachable?)", false);
  }

  void start(Attempt& attempt) {
    auto [fd, error] = start_connect(*attempt.to);
    attempt.fd = std::move(fd);
    attempt.act_at = Clock::now() + kAttemptLimit;
    attempt.state = Attempt::State::kConnecting;
    if (error == 0)
      connected(attempt);
    else if (error != EINPROGRESS)
      lose_to(attempt, error);
  }

  void connected(Attempt& attempt) {
    attempt.state = Attempt::State::kShaking;
    attempt.shake.emplace(key_, hello_);
    const auto output = attempt.shake->output();
    attempt.out.assign(output.begin(), output.end());
    attempt.in.clear();
    // Connected is nearly won: the others hold back, so that a crowd does not connect several times
    // over.
    for (auto& other : attempts_)
      if (other.state == Attempt::State::kWaiting && other.last_error.empty())
        other.act_at = std::max(other.act_at, Clock::now() + kShakeHeadStart);
    shake(attempt);
  }

  void lose_to(Attempt& attempt, int error) {
    const bool no_route = error == EAFNOSUPPORT || error == ENETUNREACH || error == EADDRNOTAVAIL;
    lose(attempt, strerror(error), no_route || error == ECONNREFUSED);
    attempt.no_route = no_route;
  }

  // This try is over; the next waits a little longer each time.
  void lose(Attempt& attempt, std::string why, bool refused) {
    attempt.fd.reset();
    attempt.last_error = std::move(why);
    attempt.refused = refused;
    attempt.no_route = false;
    attempt.state = Attempt::State::kWaiting;
    attempt.act_at = Clock::now() + attempt.pause;
    attempt.pause = std::min(attempt.pause * 2, kLongestPause);
    // No reason for the next candidate to wait for this one.
    for (auto& other : attempts_)
      if (other.last_error.empty() && other.state == Attempt::State::kWaiting) {
        other.act_at = Clock::now();
        break;
      }
  }

  void ready(Attempt& attempt) {
    if (attempt.state == Attempt::State::kConnecting) {
      const int error = finish_connect(attempt.fd);
      if (error) return lose_to(attempt, error);
      return connected(attempt);
    }
    shake(attempt);
  }

  bool send_out(Attempt& attempt) {
    while (!attempt.out.empty()) {
      const auto sent = send_some(attempt.fd, attempt.out);
      if (sent.error == EAGAIN) return true;
      if (sent.error) return false;
      attempt.out.erase(attempt.out.begin(),
                        attempt.out.begin() + static_cast<ptrdiff_t>(sent.bytes));
    }
    return true;
  }

  void shake(Attempt& attempt) {
    if (!send_out(attempt)) return lose(attempt, "dropped by the other end", false);
    while (attempt.in.size() < kChallengeBytes) {
      const size_t have = attempt.in.size();
      attempt.in.resize(kChallengeBytes);
      const auto got = receive_some(attempt.fd, std::span(attempt.in).subspan(have));
      attempt.in.resize(have + got.bytes);
      if (got.error == EAGAIN) return;
      if (got.error || got.bytes == 0)
        return lose(attempt, "connected, then dropped by the other end", false);
    }
    conclude(attempt, attempt.shake->feed(attempt.in));
  }

  void conclude(Attempt& attempt, Shake outcome) {
    if (outcome == Shake::kOtherVersion) {
      result_ = finish(DialResult::Outcome::kOtherVersion);
      result_->peer = attempt.shake->peer();
      return;
    }
    if (outcome == Shake::kRefused) return lose(attempt, "serves another communicator", true);
    if (outcome != Shake::kDone) return lose(attempt, "another service answers there", true);
    const auto proof = attempt.shake->output();
    attempt.out.assign(proof.begin(), proof.end());
    // 32 bytes fit the send buffer of a connection that has carried 88.
    if (!send_out(attempt) || !attempt.out.empty())
      return lose(attempt, "dropped by the other end", false);
    const std::string from = local_text(attempt.fd);
    log_info(Subsystem::kBootstrap, "Bootstrap: reached {} at {}{}{}{}", target_.name,
             attempt.to->text, from.empty() ? "" : " from " + from,
             tried().empty() ? "" : "; gave up ", tried());
    Stream stream(std::move(attempt.fd), kMaxMeetingBytes);
    result_ = DialResult{DialResult::Outcome::kConnected, std::move(stream), attempt.to->text, {}};
  }

  bool no_route() const {
    return std::all_of(attempts_.begin(), attempts_.end(),
                       [](const Attempt& a) { return a.no_route; });
  }

  // True when it is clear that trying on is no use.
  bool is_gone() const {
    if (attempts_.empty()) return true;
    if (!target_.listening) return false;
    const bool all_refused =
        std::all_of(attempts_.begin(), attempts_.end(), [](const Attempt& a) { return a.refused; });
    return all_refused && (target_.same_place || Clock::now() - started_ >= kGoneLimit);
  }

  std::string tried() const {
    std::string text;
    for (const auto& attempt : attempts_) {
      if (attempt.last_error.empty()) continue;
      if (!text.empty()) text += "; ";
      text += attempt.to->text + ": " + attempt.last_error;
    }
    return text;
  }

  DialResult finish(DialResult::Outcome outcome) {
    std::string text = tried();
    for (const auto& attempt : attempts_)
      if (attempt.last_error.empty())
        text += (text.empty() ? "" : "; ") + attempt.to->text + ": no answer yet";
    if (attempts_.empty()) text = "it has no address that can be reached from this host";
    return {outcome, Stream(), std::move(text), {}};
  }

  void poll_once(const Wait& wait) {
    std::vector<pollfd> set;
    auto until = wait.next_look();
    if (target_.listening && Clock::now() - started_ < kGoneLimit)
      until = std::min(until, started_ + kGoneLimit);
    for (const auto& attempt : attempts_) {
      until = std::min(until, attempt.act_at);
      const bool writes = attempt.state == Attempt::State::kConnecting || !attempt.out.empty();
      const bool idle = attempt.state == Attempt::State::kWaiting;
      set.push_back(
          {idle ? -1 : attempt.fd.get(), static_cast<short>(writes ? POLLOUT : POLLIN), 0});
    }
    if (::poll(set.data(), set.size(), poll_timeout_ms(until)) <= 0) return;
    for (size_t i = 0; i < set.size() && !result_; i++)
      if (set[i].revents) ready(attempts_[i]);
  }

  const DialTarget& target_;
  const Key& key_;
  const Hello& hello_;
  const Clock::time_point started_ = Clock::now();
  std::vector<Attempt> attempts_;
  std::optional<DialResult> result_;
};

Address loopback(uint8_t family) {
  Address address;
  address.family = family;
  if (family == 4)
    address.bytes = {127, 0, 0, 1};
  else
    address.bytes[15] = 1;
  return address;
}

// A link-local IPv6 address needs the interface to leave by: each of ours is a candidate.
void add_scoped(std::vector<SocketAddress>& out, Address address, uint16_t port) {
  for (const auto& row : list_interfaces()) {
    if (!row.up || row.address.family != 6 || !row.address.is_link_local()) continue;
    address.scope = row.address.scope;
    out.push_back(tcp_address(address, port));
  }
}

}  // namespace

DialTarget dial_target(std::string name, const Endpoint& endpoint, uint64_t own_place,
                       FamilyRule family) {
  DialTarget target;
  target.name = std::move(name);
  target.same_place = endpoint.place == own_place;
  auto& out = target.candidates;
  if (target.same_place && !endpoint.unix_name.empty())
    out.push_back(unix_address(endpoint.unix_name));
  if (endpoint.port == 0) return target;
  for (const auto& address : endpoint.addresses) {
    if (!allows(family, address)) continue;
    if (address.is_loopback()) continue;  // below, where it can mean this host
    if (address.family == 6 && address.is_link_local())
      add_scoped(out, address, endpoint.port);
    else
      out.push_back(tcp_address(address, endpoint.port));
  }
  if (!target.same_place) return target;
  for (uint8_t version : {4, 6})
    if (allows(family, loopback(version)))
      out.push_back(tcp_address(loopback(version), endpoint.port));
  return target;
}

DialResult dial(const DialTarget& target, const Key& key, const Hello& hello, const Wait& wait) {
  return Race(target, key, hello).run(wait);
}

}  // namespace weft
