// The estimate of a group (estimate.h).
#include "estimate.h"

#include <algorithm>

#include "algorithms/pattern_cost.h"
#include "algorithms/select.h"

namespace weft {
namespace {

double message_us(const platform::CostTable& costs, size_t bytes) {
  return costs.estimate(costs.simple, 1, double(bytes)).us;
}

double collective_us(const Communicator& comm, const Request& request, size_t bytes) {
  return comm.selector->choose(request.collective, bytes).us;
}

}  // namespace

double estimate_us(const Communicator& comm, std::span<const Request> requests) {
  if (requests.empty()) return 0;
  const platform::CostTable& costs = comm.costs;
  if (comm.size() == 1) return costs.launch_us;  // copies on the device
  double together = 0, sends = 0, receives = 0;
  for (const Request& request : requests) {
    const size_t bytes = request.count * type_bytes(request.type);
    if (request.collective == Collective::kSend) {
      sends += message_us(costs, bytes);
    } else if (request.collective == Collective::kRecv) {
      receives += message_us(costs, bytes);
    } else {
      together += collective_us(comm, request, bytes);
    }
  }
  return costs.launch_us + together + std::max(sends, receives);  // both directions at once
}

}  // namespace weft
