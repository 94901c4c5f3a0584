// The three messages by which two ends of a connection prove that they hold the communicator's key
// (README.md has the layout and the reasons). Owns: building and checking them, without sockets.
// Does not own: deadlines, tables (acceptor.h, dialler.h).
#pragma once

#include <string>

#include "bootstrap/digest.h"

namespace weft {

constexpr uint16_t kWireVersion = 1;
constexpr size_t kHelloBytes = 88, kChallengeBytes = 64, kProofBytes = 32;

enum class Purpose : uint8_t { kCheckIn = 1, kEdge = 2, kOutOfBand = 3 };

// The target of a check-in is the root service and not a rank.
constexpr uint32_t kRootTarget = 0xffffffff;

struct Hello {
  uint16_t version = kWireVersion;
  Purpose purpose = Purpose::kCheckIn;
  uint32_t library = 0;
  uint64_t comm = 0;
  uint32_t rank = 0, nranks = 0;
  uint32_t target = kRootTarget;
};

// What the other end is built from, for "other version" texts.
struct PeerVersion {
  uint16_t wire = 0;
  uint32_t library = 0;
};
// "wire version 1 (library 2.28.3)"
std::string version_text(PeerVersion version);

enum class Shake {
  kContinue,      // send output(), then feed the next message
  kDone,          // send output(); both ends have proved themselves
  kStranger,      // not ours: drop. The acceptor's output() may hold a refusal to send first
  kRefused,       // dialler only: the acceptor serves another communicator
  kOtherVersion,  // the other end is genuine and speaks another wire version. Send output() first
};

class DiallerHandshake {
 public:
  DiallerHandshake(const Key& key, const Hello& hello);
  ByteSpan output() const { return output_; }
  // The challenge, kChallengeBytes long.
  Shake feed(ByteSpan challenge);
  PeerVersion peer() const { return peer_; }

 private:
  Key key_;
  Hello hello_;
  Bytes hello_bytes_, output_;
  PeerVersion peer_;
};

class AcceptorHandshake {
 public:
  struct Self {
    Key key;
    uint64_t comm;
    Purpose purpose;
    uint32_t target;
    uint32_t library;
    uint16_t version = kWireVersion;
  };
  explicit AcceptorHandshake(const Self& self) : self_(self) {}
  // Length of the message expected now.
  size_t wants() const { return challenge_.empty() ? kHelloBytes : kProofBytes; }
  Shake feed(ByteSpan message);
  ByteSpan output() const { return output_; }
  // Valid once feed() gave kDone or kOtherVersion, or the hello's mac held.
  const Hello& hello() const { return hello_; }

 private:
  Shake feed_hello(ByteSpan message);
  void answer(uint8_t status);
  Self self_;
  Hello hello_;
  Bytes hello_bytes_, challenge_, output_;
};

}  // namespace weft
