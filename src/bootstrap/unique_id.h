// The 128 bytes of an ncclUniqueId, as fields. Owns: the layout (README.md), the key that follows
// from it. Does not own: the root service an id belongs to (root.h), the table of ids of this
// process (id_table.h).
#pragma once

#include "bootstrap/handshake.h"
#include "bootstrap/messages.h"
#include "bootstrap/socket.h"
#include "config.h"

namespace weft {

enum class IdKind : uint8_t { kMinted = 1, kFixed = 2 };

struct UniqueId {
  static constexpr size_t kSecretBytes = 24;
  uint16_t version = kWireVersion;
  IdKind kind = IdKind::kMinted;
  uint64_t nonce = 0;  // names the communicator in every hello
  std::array<std::byte, kSecretBytes> secret{};
  Endpoint endpoint;        // kMinted: where the root listens
  std::string fixed_where;  // kFixed: "host:port"

  ncclUniqueId encode() const;
  // Throws Error(ncclInvalidArgument) when the bytes are not an id of this library.
  static UniqueId decode(const ncclUniqueId& bytes);
};

// Random nonce and secret, and the Unix name that follows from the secret.
UniqueId mint_unique_id();
// From NCCL_COMM_ID. Throws Error(ncclInvalidUsage) when it is not host:port.
UniqueId fixed_unique_id(const std::string& comm_id);

// The handshake key. For a fixed id it comes from config.secret_file (Error(ncclInvalidUsage) when
// that cannot be read), else it is no secret, which is said once per process.
Key handshake_key(const UniqueId& id, const Config& config);

// "1.2.3.4:80", "[fe80::1%eth0]:80", "host:80", resolved. Throws Error(ncclInvalidUsage).
struct HostPort {
  std::string host;
  uint16_t port;
};
HostPort parse_host_port(const std::string& text);
// All addresses of `where.host` that the family rule allows. Throws Error(ncclSystemError) when
// there is none.
std::vector<SocketAddress> resolve(const HostPort& where, FamilyRule family);

}  // namespace weft
