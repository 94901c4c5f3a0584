// The exchange over sockets: rank 0 collects a text from everyone and sends all of them back.
// The sockets are inherited from the parent (--procs) or made here: rank 0 listens on MASTER_ADDR's
// port, the others connect and say who they are. A stranger's connection is dropped. Nothing is
// encrypted: this is a benchmark's side channel. Format: length as 8 bytes of this host's order,
// then the text. All hosts of a job have the same byte order.
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "exchange.h"
#include "failure.h"

namespace weft::perf {
namespace {

constexpr uint64_t kHello = 0x7766706572663031;    // "wfperf01": who speaks this protocol
constexpr uint64_t kLongest = uint64_t{64} << 20;  // a longer message is garbage
constexpr int kPatienceSeconds = 60;               // for the others to start, on a loaded cluster
constexpr timeval kHelloPatience{5, 0};
constexpr std::chrono::milliseconds kRetryPause{20};

struct Hello {
  uint64_t magic;
  int32_t rank, size;
};

bool send_all(int socket, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

class Star final : public Exchange {
 public:
  Star(int rank, int size, std::vector<int> sockets)
      : rank_(rank), size_(size), sockets_(std::move(sockets)) {}
  ~Star() override {
    for (int socket : sockets_) close(socket);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> all_gather(const std::string& mine) override {
    std::vector<std::string> all(static_cast<size_t>(size_));
    if (rank_ != 0) {
      put(sockets_[0], 0, mine);
      for (std::string& text : all) text = get(sockets_[0], 0);
      return all;
    }
    all[0] = mine;
    for (size_t peer = 1; peer < all.size(); ++peer) {
      all[peer] = get(sockets_[peer - 1], static_cast<int>(peer));
    }
    std::string reply;
    for (const std::string& text : all) {
      const uint64_t length = text.size();
      reply.append(reinterpret_cast<const char*>(&length), sizeof(length)).append(text);
    }
    for (size_t peer = 1; peer < all.size(); ++peer) {
      if (!send_all(sockets_[peer - 1], reply.data(), reply.size())) gone(static_cast<int>(peer));
    }
    return all;
  }

 private:
  [[noreturn]] static void gone(int peer) { fail("process {} of this run is gone", peer); }

  static void put(int socket, int peer, const std::string& text) {
    const uint64_t length = text.size();
    if (!send_all(socket, &length, sizeof(length)) || !send_all(socket, text.data(), length)) {
      gone(peer);
    }
  }

  static std::string get(int socket, int peer) {
    uint64_t length = 0;
    if (!receive_all(socket, &length, sizeof(length))) gone(peer);
    if (length > kLongest) fail("process {} sent garbage", peer);
    std::string text(length, '\0');
    if (!receive_all(socket, text.data(), length)) gone(peer);
    return text;
  }

  const int rank_, size_;
  std::vector<int> sockets_;
};

// Addresses of `host`; ask with AI_PASSIVE and "" for a listening one.
addrinfo* look_up(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(),
                                &hints, &found);
  if (error != 0) fail_usage("MASTER_ADDR '{}': {}", host, gai_strerror(error));
  return found;
}

int try_connect(const Place& place) {
  addrinfo* addresses = look_up(place.address, place.port, 0);
  int connected = -1;
  for (addrinfo* a = addresses; a != nullptr && connected < 0; a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
      connected = fd;
    } else {
      close(fd);
    }
  }
  freeaddrinfo(addresses);
  return connected;
}

void no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// Rank 0 may not listen yet, so refused connections are tried again.
int connect_to_first(const Place& place) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceSeconds);
  int fd = try_connect(place);
  while (fd < 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      fail("rank {} cannot reach rank 0 on {} port {} for {} s: {}", place.rank, place.address,
           place.port, kPatienceSeconds, std::strerror(errno));
    }
    std::this_thread::sleep_for(kRetryPause);
    fd = try_connect(place);
  }
  no_delay(fd);
  const Hello hello{kHello, place.rank, place.size};
  if (!send_all(fd, &hello, sizeof(hello)))
    fail("rank 0 closed the connection of rank {}", place.rank);
  return fd;
}

int listen_as_first(const Place& place) {
  addrinfo* addresses = look_up("", place.port, AI_PASSIVE);
  int error = 0;
  for (addrinfo* a = addresses; a != nullptr; a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1, off = 0;
    if (fd < 0) continue;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    // The wildcard of IPv6 takes IPv4 too; glibc lists IPv4 first, so that one is used only where
    // there is no IPv6.
    const bool skip = a->ai_family == AF_INET && a->ai_next != nullptr;
    if (!skip && bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) {
      freeaddrinfo(addresses);
      return fd;
    }
    if (!skip) error = errno;
    close(fd);
  }
  freeaddrinfo(addresses);
  fail("rank 0 cannot listen on port {} (MASTER_PORT and --port-offset): {}", place.port,
       std::strerror(error));
}

// The rank a new connection says it is; 0 for a stranger.
int greeted_rank(int fd, int size) {
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kHelloPatience, sizeof(kHelloPatience));
  Hello hello{};
  if (!receive_all(fd, &hello, sizeof(hello)) || hello.magic != kHello) return 0;
  if (hello.size != size || hello.rank < 1 || hello.rank >= size) return 0;
  const timeval forever{0, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
  return hello.rank;
}

std::vector<int> accept_others(const Place& place) {
  const int listener = listen_as_first(place);
  const timeval patience{kPatienceSeconds, 0};  // also ends accept
  setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  std::vector<int> sockets(static_cast<size_t>(place.size) - 1, -1);
  for (int missing = place.size - 1; missing > 0;) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) {
        fail("{} of {} processes did not connect to port {} within {} s", missing, place.size,
             place.port, kPatienceSeconds);
      }
      fail("rank 0 cannot accept: {}", std::strerror(errno));
    }
    const int rank = greeted_rank(fd, place.size);
    if (rank == 0 || sockets[static_cast<size_t>(rank) - 1] >= 0) {
      close(fd);
      continue;
    }
    no_delay(fd);
    sockets[static_cast<size_t>(rank) - 1] = fd;
    --missing;
  }
  close(listener);
  return sockets;
}

}  // namespace

std::unique_ptr<Exchange> star_of_sockets(int rank, int size, std::vector<int> sockets) {
  const size_t needed = rank == 0 ? static_cast<size_t>(size) - 1 : 1;
  if (sockets.size() != needed && size > 1) {
    fail_usage("{} lists {} sockets, rank {} of {} needs {}", kSocketsVariable, sockets.size(),
               rank, size, needed);
  }
  return std::make_unique<Star>(rank, size, std::move(sockets));
}

std::unique_ptr<Exchange> star_over_tcp(const Place& place) {
  std::vector<int> sockets;
  if (place.rank == 0) {
    sockets = accept_others(place);
  } else {
    sockets.push_back(connect_to_first(place));
  }
  return std::make_unique<Star>(place.rank, place.size, std::move(sockets));
}

}  // namespace weft::perf
