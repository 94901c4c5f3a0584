// How long operations would take, for ncclGroupSimulateEnd. Owns: adding up. Does not own: what an
// operation costs (algorithms/select.h).
#pragma once

#include <span>

#include "communicator.h"
#include "request.h"

namespace weft {

// Microseconds that these requests take together, launched as one group.
double estimate_us(const Communicator& comm, std::span<const Request> requests);

}  // namespace weft
