// Addresses of this host and which of them to offer to others. Owns: listing interfaces, the
// ranking, place_hash(). Does not own: sockets (socket.h). rank_interfaces is pure, so that tests
// feed it made-up hosts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/interface_filter.h"
#include "bootstrap/wire.h"

namespace weft {

struct Address {
  uint8_t family = 4;               // 4 or 6
  std::array<uint8_t, 16> bytes{};  // the first 4 for IPv4
  uint32_t scope = 0;  // interface index of an fe80:: address; means something on this host only

  static std::optional<Address> parse(const std::string& text);
  std::string text() const;
  bool is_loopback() const;
  bool is_link_local() const;  // 169.254/16, fe80::/10
  size_t size() const { return family == 4 ? 4 : 16; }
  bool operator==(const Address&) const = default;
};

void write_address(Writer& out, const Address& address);
Address read_address(Reader& in);

struct Interface {
  std::string name;
  Address address;
  bool up = true;
  bool carrier = true;  // IFF_RUNNING
  bool loopback = false;
};

// One row per address.
std::vector<Interface> list_interfaces();

enum class FamilyRule { kAny, kIpv4, kIpv6 };
// NCCL_SOCKET_FAMILY. Throws Error(ncclInvalidUsage) on anything but AF_INET and AF_INET6.
FamilyRule parse_family(const std::string& text);
inline bool allows(FamilyRule rule, const Address& address) {
  return rule == FamilyRule::kAny || (rule == FamilyRule::kIpv4) == (address.family == 4);
}

// The rows others may reach this host by, best first: InfiniBand names, ordinary ones, container
// bridges, then link-local addresses. Interfaces that are down or have no carrier are left out,
// loopback too unless `ifname` asks for it. Throws Error(ncclInvalidUsage) naming `ifname` and what
// exists when `ifname` is set and leaves nothing.
std::vector<Interface> rank_interfaces(const std::vector<Interface>& all, const std::string& ifname,
                                       FamilyRule family);

// Equal for processes that share kernel boot and network namespace: loopback and abstract Unix
// sockets connect them.
uint64_t place_hash();
std::string host_name();

}  // namespace weft
