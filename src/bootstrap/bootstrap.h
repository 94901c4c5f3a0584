// The control plane of one communicator: who the ranks are, and exchanges between their hosts.
// Owns: the 128-byte unique id, rendezvous, the keyed handshake, the tree of sockets, all-gathers
// and out-of-band messages. Does not own: anything about devices. Next on the path of an init:
// communicator init (init.cc).
//
// Every wait has a deadline and sees interrupt(). A rank that gives up says why with fail();
// everybody else's current and later calls then throw Error(ncclRemoteError) with that rank and
// text.
#pragma once

#include <rccl/rccl.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config.h"

namespace weft {

// Makes an id and starts the service that ranks of this id meet at, in this process; it ends when
// all ranks have met, or after the init timeout. With NCCL_COMM_ID set the id names that address
// and the rank 0 process starts the service. Errors: ncclSystemError (no usable interface, socket),
// ncclInvalidUsage (bad variable).
ncclUniqueId create_unique_id(const Config& config);

// What may be shown of an id in a log: a short hash, never the secret.
std::string unique_id_label(const ncclUniqueId& id);

class Bootstrap {
 public:
  // Meets the other ranks. Blocks until all `nranks` are connected. Errors: ncclInvalidArgument
  // (not an id), ncclInvalidUsage (same rank twice, other nranks, other wire version: the text
  // names both sides), ncclRemoteError (another rank gave up), ncclSystemError (deadline; the text
  // names the missing ranks if known). `interrupted` may be null; when it becomes true every wait
  // ends with Error(ncclInvalidUsage, "aborted").
  static std::unique_ptr<Bootstrap> connect(const ncclUniqueId& id, int rank, int nranks,
                                            std::shared_ptr<const Config> config,
                                            const std::atomic<bool>* interrupted);
  virtual ~Bootstrap() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // `all` holds size() parts of `bytes_each`; this rank's part is filled by the caller, the others
  // on return.
  virtual void all_gather(void* all, size_t bytes_each) = 0;
  // The same for texts (or bytes) of any length up to 1 MiB; result is indexed by rank.
  virtual std::vector<std::string> all_gather_texts(const std::string& own) = 0;
  virtual void barrier() = 0;

  // Out of band, FIFO per (peer, tag), up to 1 MiB a message; send does not wait for the receiver.
  // Works also after a failure, as far as ranks are still there.
  virtual void send(int peer, uint32_t tag, std::span<const std::byte> message) = 0;
  virtual std::vector<std::byte> receive(int peer, uint32_t tag) = 0;
  // Takes a message that has come, without waiting; false: there is none. Works also after a
  // failure or death elsewhere.
  virtual bool try_receive(int peer, uint32_t tag, std::vector<std::byte>& message) = 0;

  // Tells all ranks that this one gives up, and why. Does not throw, does not wait for peers.
  virtual void fail(ncclResult_t code, const std::string& reason) noexcept = 0;

  // After init: what a peer's host said or that its connection ended; kept for the asynchronous
  // error state.
  struct PeerEvent {
    int rank;           // -1: unknown
    ncclResult_t code;  // ncclSuccess: that peer closed in an orderly way
    std::string text;
    bool gone = false;  // its connection ended without a goodbye: the process is dead or gone
  };
  // Returns events not yet returned, never waits.
  virtual std::vector<PeerEvent> poll_events() = 0;
  // Says goodbye in an orderly way (destroy); pending sends are flushed within `limit`.
  virtual void close(std::chrono::milliseconds limit) noexcept = 0;
};

// For tests: connections dropped because they were not ours, since the process started.
uint64_t bootstrap_strangers_dropped() noexcept;

}  // namespace weft
