// How a window comes to be. Owns: what ranks tell each other about their buffers, and when they
// disagree. Next: registration.h keeps it.
#pragma once

#include <rccl/rccl.h>

#include "communicator.h"
#include "host_jobs.h"

namespace weft {

struct WindowCall {
  void* base;
  size_t bytes;
  ncclWindow_t* out;
  int flags;
};

// Collective over `comm`. Sets *out, to NULL when all sizes are 0. Throws on all ranks when one
// refuses, when flags differ, and for a symmetric window when sizes or offsets do.
void register_window(Communicator& comm, const WindowCall& call);

}  // namespace weft
