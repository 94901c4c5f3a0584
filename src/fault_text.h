// What a wait of a kernel that gave up means, in words.
#pragma once

#include <string>

#include "device/work.h"
#include "request.h"

namespace weft {

// Ranks made different calls.
inline bool is_disagreement(const Fault& fault) {
  return fault.kind == Fault::kMismatch || fault.kind == Fault::kPeerWentOn;
}

// `request`: the collective that had the fault's sequence number.
std::string describe_fault(int rank, const Fault& fault, const Request& request);

}  // namespace weft
