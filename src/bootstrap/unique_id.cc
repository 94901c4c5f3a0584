// Encoding and decoding of ids, and what follows from one: key, label, addresses.
#include "bootstrap/unique_id.h"

#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <sstream>

#include "bootstrap/bootstrap.h"
#include "error.h"
#include "log.h"

namespace weft {
namespace {

constexpr std::string_view kMagic("WEFT-ID\0", 8);
constexpr size_t kWhereBytes = 64, kCheckedBytes = 120, kMinSecretFileBytes = 16;
static_assert(sizeof(ncclUniqueId) == kCheckedBytes + 8);

ByteSpan id_bytes(const ncclUniqueId& id) { return std::as_bytes(std::span(&id, 1)); }

std::string unix_name_of(const UniqueId& id) {
  const Key name = hash256("unix name", id.secret);
  return "weft-" + hex_text(ByteSpan(name).first(12));
}

// The addresses that fit, best first; returns how many.
uint8_t write_addresses(Writer& out, const std::vector<Address>& addresses) {
  uint8_t count = 0;
  size_t left = kWhereBytes;
  for (const auto& address : addresses) {
    if (address.size() + 1 > left) continue;
    left -= address.size() + 1;
    write_address(out, address);
    count++;
  }
  return count;
}

void pad_to(Writer& out, size_t bytes) {
  while (out.bytes().size() < bytes) out.u8(0);
}

}  // namespace

ncclUniqueId UniqueId::encode() const {
  Writer where;
  uint8_t count = static_cast<uint8_t>(fixed_where.size());
  if (kind == IdKind::kMinted)
    count = write_addresses(where, endpoint.addresses);
  else
    where.raw(as_byte_span(fixed_where));
  Writer out;
  out.raw(as_byte_span(kMagic));
  out.u16(version);
  out.u8(static_cast<uint8_t>(kind));
  out.u8(count);
  out.u16(endpoint.port);
  out.u16(0);
  out.u64(nonce);
  out.u64(endpoint.place);
  out.raw(secret);
  out.raw(where.bytes());
  pad_to(out, kCheckedBytes);
  out.u64(hash64(out.bytes()));
  ncclUniqueId id;
  std::memcpy(&id, out.bytes().data(), sizeof id);
  return id;
}

UniqueId UniqueId::decode(const ncclUniqueId& bytes) {
  const ByteSpan all = id_bytes(bytes);
  Reader in(all);
  const auto magic = in.raw(kMagic.size());
  if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0)
    fail(ncclInvalidArgument,
         "the unique id was not made by ncclGetUniqueId of this library (or not copied to this "
         "rank)");
  if (Reader(all.subspan(kCheckedBytes)).u64() != hash64(all.first(kCheckedBytes)))
    fail(ncclInvalidArgument, "the unique id is damaged: not all of its {} bytes were copied",
         sizeof bytes);
  UniqueId id;
  id.version = in.u16();
  id.kind = static_cast<IdKind>(in.u8());
  const uint8_t count = in.u8();
  id.endpoint.port = in.u16();
  in.u16();
  id.nonce = in.u64();
  id.endpoint.place = in.u64();
  std::memcpy(id.secret.data(), in.raw(kSecretBytes).data(), kSecretBytes);
  Reader where(in.raw(kWhereBytes));
  if (id.kind == IdKind::kMinted) {
    for (uint8_t i = 0; i < count && where.ok(); i++)
      id.endpoint.addresses.push_back(read_address(where));
    id.endpoint.unix_name = unix_name_of(id);
  } else if (id.kind == IdKind::kFixed) {
    const auto text = where.raw(count);
    id.fixed_where.assign(reinterpret_cast<const char*>(text.data()), text.size());
  }
  const bool known = id.kind == IdKind::kMinted || id.kind == IdKind::kFixed;
  if (!known || !where.ok())
    fail(ncclInvalidArgument, "the unique id has a form this library does not know");
  return id;
}

UniqueId mint_unique_id() {
  UniqueId id;
  fill_random(id.secret);
  fill_random(std::as_writable_bytes(std::span(&id.nonce, 1)));
  id.endpoint.place = place_hash();
  id.endpoint.unix_name = unix_name_of(id);
  return id;
}

UniqueId fixed_unique_id(const std::string& comm_id) {
  parse_host_port(comm_id);  // throws when it is none
  if (comm_id.size() > kWhereBytes)
    fail(ncclInvalidUsage,
         "NCCL_COMM_ID={}: longer than {} characters, use an address instead of a name", comm_id,
         kWhereBytes);
  UniqueId id;
  id.kind = IdKind::kFixed;
  id.fixed_where = comm_id;
  id.nonce = hash64(as_byte_span(comm_id));
  return id;
}

namespace {

std::string read_secret(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) fail(ncclInvalidUsage, "WEFT_SECRET_FILE={}: cannot be read", path);
  if (text.str().size() < kMinSecretFileBytes)
    fail(ncclInvalidUsage, "WEFT_SECRET_FILE={}: holds fewer than {} bytes", path,
         kMinSecretFileBytes);
  return text.str();
}

}  // namespace

Key handshake_key(const UniqueId& id, const Config& config) {
  if (id.kind == IdKind::kMinted) return hash256("key", id.secret);
  if (!config.secret_file.empty())
    return hash256("key file", as_byte_span(read_secret(config.secret_file)));
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    log_warn(
        "NCCL_COMM_ID={} without WEFT_SECRET_FILE: the bootstrap is not authenticated, anybody who "
        "reaches its port may "
        "join. Give all ranks a file with the same {} or more random bytes",
        id.fixed_where, kMinSecretFileBytes);
  return hash256("key open", std::as_bytes(std::span(&id.nonce, 1)));
}

HostPort parse_host_port(const std::string& text) {
  const size_t colon = text.rfind(':');
  HostPort where{text.substr(0, colon), 0};
  int port = -1, used = 0;
  if (colon != std::string::npos) {
    const std::string digits = text.substr(colon + 1);
    if (sscanf(digits.c_str(), "%d%n", &port, &used) != 1 ||
        used != static_cast<int>(digits.size()))
      port = -1;
  }
  if (where.host.starts_with('[') && where.host.ends_with(']'))
    where.host = where.host.substr(1, where.host.size() - 2);
  if (where.host.empty() || port < 1 || port > 65535)
    fail(ncclInvalidUsage,
         "NCCL_COMM_ID={}: must be <ipv4>:<port>, [<ipv6>]:<port> or <host name>:<port>", text);
  where.port = static_cast<uint16_t>(port);
  return where;
}

std::vector<SocketAddress> resolve(const HostPort& where, FamilyRule family) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = family == FamilyRule::kAny    ? AF_UNSPEC
                    : family == FamilyRule::kIpv4 ? AF_INET
                                                  : AF_INET6;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(where.host.c_str(), nullptr, &hints, &list);
  if (error)
    fail(ncclSystemError, "NCCL_COMM_ID: cannot resolve {}: {}", where.host, gai_strerror(error));
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* at = list; at; at = at->ai_next) {
    Address address;
    if (at->ai_family == AF_INET) {
      std::memcpy(address.bytes.data(), &reinterpret_cast<sockaddr_in*>(at->ai_addr)->sin_addr, 4);
    } else {
      const auto* in6 = reinterpret_cast<const sockaddr_in6*>(at->ai_addr);
      address.family = 6;
      address.scope = in6->sin6_scope_id;
      std::memcpy(address.bytes.data(), &in6->sin6_addr, 16);
    }
    found.push_back(tcp_address(address, where.port));
  }
  return found;
}

std::string unique_id_label(const ncclUniqueId& id) {
  const Key hash = hash256("label", id_bytes(id));
  return "weft-" + hex_text(ByteSpan(hash).first(6));
}

}  // namespace weft
