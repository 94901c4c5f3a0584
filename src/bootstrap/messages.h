// The payloads of the frames (README.md has the table). Owns: encoding and parsing. parse() gives
// nothing for bytes that are not exactly one message. Does not own: reacting to them (root.cc,
// tree.cc).
#pragma once

#include <rccl/rccl.h>

#include "bootstrap/address.h"
#include "bootstrap/wire.h"

namespace weft {

// Where a listener can be reached.
struct Endpoint {
  uint64_t place = 0;              // place_hash() of the process
  std::string unix_name;           // empty: none
  uint16_t port = 0;               // 0: none
  std::vector<Address> addresses;  // best first
};

// Who a rank is.
struct Card {
  uint32_t rank = 0, nranks = 0, library = 0;
  uint64_t pid = 0;
  std::string host;
  Endpoint endpoint;
  // "rank 3 on host a (pid 17)"
  std::string text() const;
};

struct CheckIn {
  Card card;
  uint64_t wait_ms = 0;
  int32_t code = 0;  // not 0: this rank gives up before it began; `reason` says why
  std::string reason;
  Bytes encode() const;
  static std::optional<CheckIn> parse(ByteSpan payload);
};

struct Verdict {
  int32_t code = 0;
  std::string text;
  std::optional<Card> parent;
  Bytes encode() const;
  static std::optional<Verdict> parse(ByteSpan payload);
};

struct Edge {
  Card child;
  Bytes encode() const;
  static std::optional<Edge> parse(ByteSpan payload);
};

enum class GatherKind : uint8_t { kFixed = 1, kTexts, kBarrier };
struct Gather {
  uint64_t round = 0;
  GatherKind kind = GatherKind::kBarrier;
  uint64_t bytes_each = 0;  // kFixed only
  std::vector<std::string> texts;
  Bytes encode() const;
  static std::optional<Gather> parse(ByteSpan payload);
  // "all_gather of 8 bytes", "all_gather_texts", "barrier"
  std::string call_text() const;
};

struct Mail {
  uint32_t from = 0, to = 0, tag = 0;
  Bytes body;
  Bytes encode() const;
  static std::optional<Mail> parse(ByteSpan payload);
};

struct Notice {
  uint32_t rank = 0;
  int32_t code = 0;  // ncclSuccess: leaves in good order
  std::string text;
  bool gone = false;  // told by a neighbour: its connection ended without a goodbye
  Bytes encode() const;
  static std::optional<Notice> parse(ByteSpan payload);
};

}  // namespace weft
