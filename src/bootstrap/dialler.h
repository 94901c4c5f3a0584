// The connecting end: races the addresses of one target and keeps the first that proves it holds
// the key. Owns: attempts, retries, the account of what was tried. Does not own: the connection
// afterwards. An address that answers but cannot prove itself (another container's bridge, a reused
// port) loses like one that is silent.
#pragma once

#include "bootstrap/handshake.h"
#include "bootstrap/messages.h"
#include "bootstrap/stream.h"
#include "bootstrap/wait.h"

namespace weft {

struct DialTarget {
  std::string name;  // for texts: "the root of weft-12ab", "rank 3 on host a (pid 7)"
  std::vector<SocketAddress> candidates;  // best first
  bool listening =
      true;  // it listened before we got its address: a refusal is an answer, not "not yet"
  bool same_place =
      false;  // our own host and network namespace: a refusal cannot come from anybody else
};

// The ways to reach `endpoint` from here: Unix socket and loopback only when it is in our place.
DialTarget dial_target(std::string name, const Endpoint& endpoint, uint64_t own_place,
                       FamilyRule family);

struct DialResult {
  enum class Outcome {
    kConnected,
    kGone,          // nobody of this communicator listens there
    kNoRoute,       // this host has no way to any of the addresses
    kOtherVersion,  // `peer` says which
    kDeadline,
  };
  Outcome outcome;
  Stream stream;     // kConnected: after the handshake, nothing sent yet
  std::string text;  // what was tried and what each attempt met
  PeerVersion peer;
};

// Throws Error(ncclInvalidUsage, "aborted") on interrupt; every other end is a result.
DialResult dial(const DialTarget& target, const Key& key, const Hello& hello, const Wait& wait);

}  // namespace weft
