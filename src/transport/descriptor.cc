#include "transport/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "error.h"
#include "transport/rank_info.h"

namespace weft {
namespace {

constexpr int kPeersInLine = 128;
constexpr int kFetchLimitMs = 10'000;

uint64_t inode_of(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

struct LocalAddress {
  sockaddr_un name;
  socklen_t bytes;
};

// A leading zero byte: the abstract name space, nothing in the file system.
LocalAddress socket_address(const DescriptorOffer& offer) {
  LocalAddress address = {};
  address.name.sun_family = AF_UNIX;
  const std::string name = fmt::format("weft-{:016x}{:016x}", offer.secret[0], offer.secret[1]);
  std::memcpy(address.name.sun_path + 1, name.data(), name.size());
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

bool send_fd(int socket, int fd) {
  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

Descriptor receive_fd(int socket) {
  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return {};
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return Descriptor(fd);
}

Descriptor fetch_by_proc(const DescriptorOffer& offer, std::string& error) {
  if (offer.pid_namespace == 0 || offer.pid_namespace != pid_namespace()) {
    error = "the processes do not share a process id namespace";
    return {};
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", offer.pid, offer.fd);
  Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) error = fmt::format("open of {}: {}", path, errno_text());
  return file;
}

Descriptor fetch_by_socket(const DescriptorOffer& offer, std::string& error) {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const LocalAddress address = socket_address(offer);
  if (!socket ||
      connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.name), address.bytes) != 0) {
    error = fmt::format("connect to the peer's Unix socket: {}", errno_text());
    return {};
  }
  pollfd wait = {socket.get(), POLLIN, 0};
  if (poll(&wait, 1, kFetchLimitMs) != 1) {
    error = fmt::format("no answer on the peer's Unix socket within {} ms", kFetchLimitMs);
    return {};
  }
  Descriptor file = receive_fd(socket.get());
  if (!file)
    error = fmt::format("no descriptor came over the peer's Unix socket: {}", errno_text());
  return file;
}

// Fetched is not enough: a process id may have been used again, or a variable may make two hosts
// look like one.
bool is_right(const Descriptor& file, const DescriptorOffer& offer, std::string& error) {
  if (!file) return false;
  if (inode_of(file.get()) == offer.inode) return true;
  error = "another file than the one offered came";
  return false;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

DescriptorServer::DescriptorServer(int fd) {
  offer_.pid_namespace = pid_namespace();
  offer_.pid = getpid();
  offer_.fd = fd;
  offer_.inode = inode_of(fd);
  if (getrandom(offer_.secret, sizeof offer_.secret, 0) != sizeof offer_.secret)
    fail(ncclSystemError, "getrandom: {}", errno_text());
  stop_ = Descriptor(eventfd(0, EFD_CLOEXEC));
  if (!stop_) fail(ncclSystemError, "eventfd: {}", errno_text());
  listener_ = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const LocalAddress address = socket_address(offer_);
  if (!listener_ ||
      bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address.name), address.bytes) != 0 ||
      listen(listener_.get(), kPeersInLine) != 0)
    return;
  thread_ = std::thread([this] { serve(); });
}

DescriptorServer::~DescriptorServer() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void DescriptorServer::serve() {
  pollfd wait[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (poll(wait, 2, -1) < 0 && errno != EINTR) return;
    if (wait[1].revents) return;
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) (void)send_fd(socket.get(), offer_.fd);
  }
}

Descriptor fetch_descriptor(const DescriptorOffer& offer, std::string& error) {
  std::string by_proc, by_socket;
  Descriptor file = fetch_by_proc(offer, by_proc);
  if (is_right(file, offer, by_proc)) return file;
  file = fetch_by_socket(offer, by_socket);
  if (is_right(file, offer, by_socket)) return file;
  error = by_proc + "; " + by_socket;
  return {};
}

}  // namespace weft
