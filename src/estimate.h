// How long an operation would take, for ncclGroupSimulateEnd. A rough figure from what a rank must
// send; it does not choose anything (algorithms/select.h does).
#pragma once

#include <vector>

#include "request.h"

namespace weft {

// Microseconds that requests of one communicator of `ranks` ranks take together.
double estimate_us(const std::vector<Request>& requests, int ranks);

}  // namespace weft
