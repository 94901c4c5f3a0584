// Interfaces of this host, their ranking, and what tells two network namespaces apart.
#include "bootstrap/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "bootstrap/digest.h"
#include "error.h"

namespace weft {

std::optional<Address> Address::parse(const std::string& text) {
  Address address;
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) return address;
  address.family = 6;
  if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

std::string Address::text() const {
  char buffer[INET6_ADDRSTRLEN] = "?";
  inet_ntop(family == 4 ? AF_INET : AF_INET6, bytes.data(), buffer, sizeof buffer);
  return buffer;
}

bool Address::is_loopback() const {
  if (family == 4) return bytes[0] == 127;
  return std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t b) { return b == 0; }) &&
         bytes[15] == 1;
}

bool Address::is_link_local() const {
  if (family == 4) return bytes[0] == 169 && bytes[1] == 254;
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

void write_address(Writer& out, const Address& address) {
  out.u8(address.family);
  out.raw(std::as_bytes(std::span(address.bytes)).first(address.size()));
}

Address read_address(Reader& in) {
  Address address;
  address.family = in.u8();
  if (address.family != 4 && address.family != 6) {
    in.raw(in.left() + 1);  // not an address: makes the reader fail
    return {};
  }
  auto bytes = in.raw(address.size());
  std::memcpy(address.bytes.data(), bytes.data(), bytes.size());
  return address;
}

std::vector<Interface> list_interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* at = list; at; at = at->ifa_next) {
    if (!at->ifa_addr) continue;
    Interface row;
    row.name = at->ifa_name;
    row.up = at->ifa_flags & IFF_UP;
    row.carrier = at->ifa_flags & IFF_RUNNING;
    row.loopback = at->ifa_flags & IFF_LOOPBACK;
    if (at->ifa_addr->sa_family == AF_INET) {
      const auto* in4 = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
      std::memcpy(row.address.bytes.data(), &in4->sin_addr, 4);
    } else if (at->ifa_addr->sa_family == AF_INET6) {
      const auto* in6 = reinterpret_cast<const sockaddr_in6*>(at->ifa_addr);
      row.address.family = 6;
      std::memcpy(row.address.bytes.data(), &in6->sin6_addr, 16);
      row.address.scope = in6->sin6_scope_id;
    } else {
      continue;
    }
    found.push_back(row);
  }
  return found;
}

FamilyRule parse_family(const std::string& text) {
  if (text.empty()) return FamilyRule::kAny;
  if (text == "AF_INET") return FamilyRule::kIpv4;
  if (text == "AF_INET6") return FamilyRule::kIpv6;
  fail(ncclInvalidUsage, "NCCL_SOCKET_FAMILY={}: must be AF_INET or AF_INET6", text);
}

namespace {

bool is_container_bridge(const std::string& name) {
  for (const char* prefix :
       {"docker", "virbr", "br-", "veth", "cni", "flannel", "podman", "lxc", "lxd"})
    if (name.starts_with(prefix)) return true;
  return false;
}

// Lower is better; rows of equal class keep the kernel's order.
int rank_class(const Interface& row) {
  int value = 0;
  if (row.address.is_link_local()) value += 16;
  if (row.loopback || row.address.is_loopback()) value += 8;
  if (is_container_bridge(row.name)) value += 4;
  if (!row.name.starts_with("ib")) value += 2;
  if (row.address.family == 6) value += 1;
  return value;
}

std::string describe(const std::vector<Interface>& all) {
  std::string text;
  for (const auto& row : all) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} ({}{})", row.name, row.address.text(),
                        !row.up        ? ", down"
                        : !row.carrier ? ", no carrier"
                                       : "");
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::vector<Interface> rank_interfaces(const std::vector<Interface>& all, const std::string& ifname,
                                       FamilyRule family) {
  const InterfaceFilter filter(ifname);
  std::vector<Interface> usable;
  for (const auto& row : all) {
    if (!row.up || !row.carrier || !filter.passes(row.name) || !allows(family, row.address))
      continue;
    if ((row.loopback || row.address.is_loopback()) && !filter.asks_for(row.name)) continue;
    usable.push_back(row);
  }
  if (usable.empty() && filter.is_set() && !filter.excludes())
    fail(ncclInvalidUsage, "NCCL_SOCKET_IFNAME={} matches no usable interface{}; this host has: {}",
         ifname,
         family == FamilyRule::kAny    ? ""
         : family == FamilyRule::kIpv4 ? " with an IPv4 address"
                                       : " with an IPv6 address",
         describe(all));
  std::stable_sort(usable.begin(), usable.end(), [](const Interface& a, const Interface& b) {
    return rank_class(a) < rank_class(b);
  });
  return usable;
}

uint64_t place_hash() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat net {};
  stat("/proc/self/ns/net", &net);
  const std::string text = fmt::format("{}/{}/{}", boot, net.st_dev, net.st_ino);
  return hash64(as_byte_span(text));
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace weft
