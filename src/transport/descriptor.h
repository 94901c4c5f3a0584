// Hands an open file to other processes of the host, without any name in a file system.
// Owns: descriptors as values, and two ways to fetch one: /proc/PID/fd (same process id namespace,
// same user), and a Unix socket in the abstract name space (containers with their own process ids
// but one network namespace). Does not own: what is in the file.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

namespace weft {

// An open descriptor, closed at the end.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// What another process needs to fetch the file; plain bytes.
struct DescriptorOffer {
  uint64_t pid_namespace;  // the pid below means something only inside it
  int64_t pid;
  int32_t fd;
  uint64_t inode;      // of the file, to see that the right one came
  uint64_t secret[2];  // names the socket, and whoever knows it may fetch
};

// Offers `fd` until destroyed. A thread answers the socket; it sleeps otherwise.
class DescriptorServer {
 public:
  // Errors: ncclSystemError. Without a socket (no network namespace allows it) only the first way
  // is offered.
  explicit DescriptorServer(int fd);
  ~DescriptorServer();
  const DescriptorOffer& offer() const { return offer_; }

 private:
  void serve();

  DescriptorOffer offer_ = {};
  Descriptor listener_, stop_;
  std::thread thread_;
};

// The file of that offer. Not able to: an empty Descriptor, and `error` holds the reason of each
// way.
Descriptor fetch_descriptor(const DescriptorOffer& offer, std::string& error);

}  // namespace weft
