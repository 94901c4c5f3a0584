// A rough cost of operations (estimate.h).
#include "estimate.h"

namespace weft {
namespace {

// Of two H200 connected by NVLink, this library's bar: 8 bytes in 4 us launch plus 2 us, 350 GB/s a
// direction. Other machines differ; ratios between sizes and operations hold.
constexpr double kLaunchUs = 4, kOperationUs = 2;
constexpr double kBytesPerUs = 350e3;

// Bytes that the busiest rank sends or receives, in segments of the collective.
double segments_moved(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return n - 1;
    default:
      return 1;
  }
}

}  // namespace

double estimate_us(const std::vector<Request>& requests, int ranks) {
  if (requests.empty()) return 0;
  double us = kLaunchUs;  // one launch a group
  for (const Request& request : requests) {
    const double bytes = double(request.count) * double(type_bytes(request.type));
    us += kOperationUs + bytes * segments_moved(request.collective, ranks) / kBytesPerUs;
  }
  return us;
}

}  // namespace weft
