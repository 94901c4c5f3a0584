// How a communicator comes to be. Owns: the phases of an init and what ranks agree on in each.
// Next: device_state.h, links.h.
#pragma once

#include <rccl/rccl.h>

#include "communicator.h"

namespace weft {

// The version of everything that two ranks exchange: handshake, gathered structs, boxes, flags.
inline constexpr uint32_t kWireVersion = 1;

// Runs all phases on the calling thread, which may belong to any device. On success the state is
// kReady; on failure it is kFailed, the reason is the asynchronous error and is thrown, and the
// other ranks are told.
void initialize(Communicator& comm, const ncclUniqueId& id);

}  // namespace weft
