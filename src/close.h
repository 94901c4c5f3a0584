// How a communicator goes away. Owns: waiting for its kernels, the goodbye between ranks, and the
// reaper, which keeps memory that peers may still write to until every peer has said that it no
// longer does, or is dead.
#pragma once

#include "communicator.h"

namespace weft {

// Waits until the kernels that were launched have ended. Throws Error(ncclRemoteError) when a rank
// is lost meanwhile: this rank's kernels are then made to leave.
void finalize(Communicator& comm);

// finalize, then gives everything back. The handle is not valid afterwards, whatever the result.
// Never waits for other ranks to close; the end of the process does, for some seconds (reaper.h).
ncclResult_t destroy(ncclComm_t handle);

// The same without waiting for operations: they end with wrong results. Takes at most some hundred
// milliseconds.
ncclResult_t abort(ncclComm_t handle);

// For a communicator whose init failed, which has no handle.
void discard(Communicator& comm) noexcept;

}  // namespace weft
