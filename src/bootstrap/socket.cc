// Sockets, with EINTR and partial transfers dealt with. Next on the path: stream.cc.
#include "bootstrap/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "bootstrap/digest.h"
#include "error.h"

namespace weft {
namespace {

constexpr int kBacklog = 4096;  // the kernel lowers it to net.core.somaxconn
// A host that vanished without closing is noticed after 10 + 4 x 5 s of silence, or 30 s of
// unacknowledged data.
constexpr int kKeepIdleSeconds = 10, kKeepIntervalSeconds = 5, kKeepCount = 4;
constexpr unsigned kUserTimeoutMs = 30'000;

void set_option(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof value);
}

// Options of a connection. Meaningless ones fail on Unix sockets and are not missed there.
void tune_connection(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleSeconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalSeconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepCount);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kUserTimeoutMs));
}

Fd open_socket(int domain, int type) {
  return Fd(socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

SocketAddress any_address(int domain, uint16_t port) {
  Address any;
  any.family = domain == AF_INET ? 4 : 6;
  return tcp_address(any, port);
}

uint16_t bound_port(const Fd& fd) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &bytes);
  return ntohs(storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&storage)->sin_port
                                            : reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port);
}

// A dual-stack socket where the rule and the kernel allow it, IPv4 alone otherwise. On failure
// `error` says why.
Fd try_listen(FamilyRule family, uint16_t port, bool reuse, int& error) {
  for (int domain : {AF_INET6, AF_INET}) {
    if (domain == AF_INET6 && family == FamilyRule::kIpv4) continue;
    if (domain == AF_INET && family == FamilyRule::kIpv6) break;
    Fd fd = open_socket(domain, SOCK_STREAM);
    if (!fd) {
      error = errno;
      continue;
    }
    if (domain == AF_INET6)
      set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, family == FamilyRule::kIpv6);
    if (reuse) set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    const auto at = any_address(domain, port);
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&at.storage), at.bytes) == 0 &&
        listen(fd.get(), kBacklog) == 0)
      return fd;
    error = errno;
    if (error == EADDRINUSE) break;  // taken for one family is taken
  }
  return {};
}

}  // namespace

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

SocketAddress tcp_address(const Address& address, uint16_t port) {
  SocketAddress result;
  result.ip = address;
  if (address.family == 4) {
    auto* in4 = reinterpret_cast<sockaddr_in*>(&result.storage);
    in4->sin_family = AF_INET;
    in4->sin_port = htons(port);
    std::memcpy(&in4->sin_addr, address.bytes.data(), 4);
    result.bytes = sizeof *in4;
    result.text = fmt::format("{}:{}", address.text(), port);
  } else {
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    in6->sin6_scope_id = address.scope;
    std::memcpy(&in6->sin6_addr, address.bytes.data(), 16);
    result.bytes = sizeof *in6;
    result.text = fmt::format("[{}]:{}", address.text(), port);
  }
  return result;
}

SocketAddress unix_address(const std::string& name) {
  SocketAddress result;
  auto* un = reinterpret_cast<sockaddr_un*>(&result.storage);
  un->sun_family = AF_UNIX;
  const size_t bytes = std::min(name.size(), sizeof un->sun_path - 1);
  std::memcpy(un->sun_path + 1, name.data(),
              bytes);  // a leading zero byte: abstract, nothing on disk
  result.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  result.text = "unix:" + name;
  return result;
}

PortRange parse_port_range(const std::string& text) {
  if (text.empty()) return {};
  int first = 0, last = 0, used = 0;
  const bool read = sscanf(text.c_str(), "%d-%d%n", &first, &last, &used) == 2 &&
                    used == static_cast<int>(text.size());
  if (!read || first < 1 || last > 65535 || first > last)
    fail(ncclInvalidUsage,
         "WEFT_PORT_RANGE={}: must be first-last with 1 <= first <= last <= 65535", text);
  return {static_cast<uint16_t>(first), static_cast<uint16_t>(last)};
}

Fd listen_tcp(FamilyRule family, PortRange range, uint16_t& port) {
  int error = 0;
  const unsigned ports = range.first ? range.last - range.first + 1u : 1u;
  uint32_t start = 0;
  fill_random(std::as_writable_bytes(std::span(&start, 1)));
  for (unsigned i = 0; i < ports; i++) {
    const uint16_t at =
        range.first ? static_cast<uint16_t>(range.first + (start % ports + i) % ports) : 0;
    if (Fd fd = try_listen(family, at, false, error)) {
      port = bound_port(fd);
      return fd;
    }
  }
  if (range.first)
    fail(ncclSystemError, "no free port in WEFT_PORT_RANGE={}-{}: {}", range.first, range.last,
         strerror(error));
  fail(ncclSystemError, "cannot open a listening socket: {}", strerror(error));
}

std::optional<Fd> listen_tcp_at(FamilyRule family, uint16_t port) {
  int error = 0;
  Fd fd = try_listen(family, port, true, error);
  if (fd) return fd;
  if (error == EADDRINUSE) return std::nullopt;
  fail(ncclSystemError, "cannot listen on port {}: {}", port, strerror(error));
}

Fd listen_unix(const std::string& name) {
  Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  const auto at = unix_address(name);
  if (fd && bind(fd.get(), reinterpret_cast<const sockaddr*>(&at.storage), at.bytes) == 0 &&
      listen(fd.get(), kBacklog) == 0)
    return fd;
  fail(ncclSystemError, "cannot listen on {}: {}", at.text, strerror(errno));
}

AcceptResult accept_one(const Fd& listener) {
  for (;;) {
    Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      tune_connection(fd.get());
      return {std::move(fd), 0};
    }
    // A connection that died in the backlog is not an error of the listener.
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    return {Fd(), errno == EAGAIN ? 0 : errno};
  }
}

ConnectResult start_connect(const SocketAddress& to) {
  Fd fd = open_socket(to.storage.ss_family, SOCK_STREAM);
  if (!fd) return {Fd(), errno};
  tune_connection(fd.get());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.bytes) == 0)
    return {std::move(fd), 0};
  // An interrupted connect goes on by itself, as one in progress does.
  const int error = errno == EINTR ? EINPROGRESS : errno;
  return {std::move(fd), error};
}

int finish_connect(const Fd& fd) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

static std::optional<Address> local_address(const Fd& fd) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &bytes) != 0)
    return std::nullopt;
  Address address;
  if (storage.ss_family == AF_INET) {
    std::memcpy(address.bytes.data(), &reinterpret_cast<sockaddr_in*>(&storage)->sin_addr, 4);
  } else if (storage.ss_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<sockaddr_in6*>(&storage)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&in6)) {
      std::memcpy(address.bytes.data(), in6.s6_addr + 12, 4);
    } else {
      address.family = 6;
      std::memcpy(address.bytes.data(), &in6, 16);
    }
  } else {
    return std::nullopt;
  }
  return address;
}

std::string local_text(const Fd& fd) {
  const auto address = local_address(fd);
  return address ? address->text() : "";
}

std::optional<Address> route_source(const SocketAddress& target) {
  // Connecting a datagram socket sends nothing and makes the kernel choose the source.
  Fd fd = open_socket(target.storage.ss_family, SOCK_DGRAM);
  if (!fd ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&target.storage), target.bytes) != 0)
    return std::nullopt;
  return local_address(fd);
}

IoResult receive_some(const Fd& fd, std::span<std::byte> into) {
  for (;;) {
    const ssize_t got = recv(fd.get(), into.data(), into.size(), 0);
    if (got >= 0) return {static_cast<size_t>(got), 0};
    if (errno != EINTR) return {0, errno};
  }
}

IoResult send_some(const Fd& fd, ByteSpan bytes) {
  for (;;) {
    const ssize_t sent = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return {static_cast<size_t>(sent), 0};
    if (errno != EINTR) return {0, errno};
  }
}

WakeEvent::WakeEvent() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!fd_)
    fail(ncclSystemError, "cannot create an eventfd: {} (too many open files?)", strerror(errno));
}

void WakeEvent::wake() const {
  const uint64_t one = 1;
  // EAGAIN means the counter is full, thus readable.
  while (write(fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void WakeEvent::drain() const {
  uint64_t count;
  while (read(fd_.get(), &count, sizeof count) < 0 && errno == EINTR) {
  }
}

void ensure_descriptors(size_t needed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  // The lowest free number is a good estimate of how many are open.
  const int lowest = dup(0);
  if (lowest >= 0) ::close(lowest);
  if (lowest >= 0 && limit.rlim_cur >= static_cast<rlim_t>(lowest) + needed) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace weft
