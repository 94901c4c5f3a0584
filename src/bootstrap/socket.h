// Descriptors. Owns: opening, listening, connecting, options, one read or write without waiting,
// the wake event. Does not own: what the bytes mean (stream.h, handshake.h). Every socket here is
// non-blocking and closed on exec. EINTR never leaves this file.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <utility>
#include <vector>

#include "bootstrap/address.h"

namespace weft {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }
  void reset();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Where to connect: an IP address and port, or an abstract Unix name.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  std::optional<Address> ip;  // nothing for Unix
  std::string text;           // "10.0.0.1:4000", "[fd00::1]:4000", "unix:weft-..."
};
SocketAddress tcp_address(const Address& address, uint16_t port);
SocketAddress unix_address(const std::string& name);

struct PortRange {
  uint16_t first = 0, last = 0;  // 0, 0: any port
};
// "first-last". Throws Error(ncclInvalidUsage) naming WEFT_PORT_RANGE.
PortRange parse_port_range(const std::string& text);

// Listens on every address of the host, both families where the rule and the kernel allow. `port`
// receives the port. Throws Error(ncclSystemError); with a range that is used up the text names it.
Fd listen_tcp(FamilyRule family, PortRange range, uint16_t& port);
// The same on one fixed port; nothing when it is taken.
std::optional<Fd> listen_tcp_at(FamilyRule family, uint16_t port);
Fd listen_unix(const std::string& name);

// A connection accepted without waiting; error 0 and no fd: nobody there; EMFILE and the like are
// returned.
struct AcceptResult {
  Fd fd;
  int error;
};
AcceptResult accept_one(const Fd& listener);

// Starts connecting. error: 0 done, EINPROGRESS under way, else failed.
struct ConnectResult {
  Fd fd;
  int error;
};
ConnectResult start_connect(const SocketAddress& to);
// After the socket became writable: 0 or the reason.
int finish_connect(const Fd& fd);
// The local end, e.g. "10.0.0.2"; empty for Unix.
std::string local_text(const Fd& fd);
// The address this host would use to reach `target`, by the kernel's routes.
std::optional<Address> route_source(const SocketAddress& target);

// One transfer. bytes 0 with error 0: the peer ended its side (receive only); EAGAIN: would wait.
struct IoResult {
  size_t bytes;
  int error;
};
IoResult receive_some(const Fd& fd, std::span<std::byte> into);
IoResult send_some(const Fd& fd, ByteSpan bytes);

// Readable after wake(), until drain(). wake() may be called from any thread.
class WakeEvent {
 public:
  WakeEvent();
  void wake() const;
  void drain() const;
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

// Lifts the soft limit on descriptors to the hard one when fewer than `needed` are left under it.
void ensure_descriptors(size_t needed);

}  // namespace weft
