// ncclAlltoAllv as what it is made of: a send and a receive for every rank, also for this one and
// for counts of 0, so that ranks pair them by order alone. Next: group.h pairs and launches them.
#pragma once

#include <vector>

#include "communicator.h"
#include "request.h"

namespace weft {

struct AllToAllV {
  const void* input;
  const size_t *send_counts, *send_at;  // elements, one a rank; on the host
  void* output;
  const size_t *receive_counts, *receive_at;
  ncclDataType_t type;
  hipStream_t stream;
};

// Valid requests, in order. Throws Error(ncclInvalidArgument): an array or a buffer that is needed
// is null, a part passes the end of memory, what is sent overlaps what is received.
std::vector<Request> requests_of(const char* function, const Communicator& comm,
                                 const AllToAllV& call);

}  // namespace weft
