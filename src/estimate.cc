// The estimate of a group (estimate.h).
#include "estimate.h"

#include <algorithm>

#include "algorithms/pattern_cost.h"
#include "algorithms/select.h"
#include "launch_shape.h"

namespace weft {
namespace {

// A pipelined launch, on an H200 with CUDA 13; one a group.
constexpr double kLaunchUs = 4;

double message_us(size_t bytes) {
  return platform::kSimpleCost.hop_us + double(bytes) / platform::kSimpleCost.bytes_per_us;
}

double collective_us(const Communicator& comm, const Request& request, size_t bytes) {
  return comm.selector->choose(request.collective, bytes).us;
}

}  // namespace

double estimate_us(const Communicator& comm, const std::vector<Request>& requests) {
  if (requests.empty()) return 0;
  if (comm.size() == 1) return kLaunchUs;  // copies on the device
  double together = 0, sends = 0, receives = 0;
  for (const Request& request : requests) {
    const size_t bytes = request.count * type_bytes(request.type);
    if (request.collective == Collective::kSend) {
      sends += message_us(bytes);
    } else if (request.collective == Collective::kRecv) {
      receives += message_us(bytes);
    } else {
      together += collective_us(comm, request, bytes);
    }
  }
  return kLaunchUs + together + std::max(sends, receives);  // both directions at once
}

}  // namespace weft
