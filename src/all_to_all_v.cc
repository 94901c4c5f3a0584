// Sends and receives of an AlltoAllv (all_to_all_v.h).
#include "all_to_all_v.h"

#include <algorithm>
#include <cstdint>

#include "error.h"
#include "validate.h"

namespace weft {
namespace {

struct Part {
  uintptr_t begin, end;
};

void require_arrays(const char* function, const AllToAllV& call) {
  require_pointer(function, "sendcounts", call.send_counts);
  require_pointer(function, "sdispls", call.send_at);
  require_pointer(function, "recvcounts", call.receive_counts);
  require_pointer(function, "rdispls", call.receive_at);
}

size_t offset_of(const char* function, const char* array, int rank, size_t at, size_t element) {
  if (at > SIZE_MAX / element)
    fail(ncclInvalidArgument, "{}: {}[{}] is {}, more than memory can be", function, array, rank,
         at);
  return at * element;
}

// The parts of a buffer that are used, in order of address.
std::vector<Part> parts_of(const std::vector<Request>& requests, Collective collective) {
  std::vector<Part> parts;
  for (const Request& request : requests) {
    if (request.collective != collective || request.count == 0) continue;
    const auto begin = reinterpret_cast<uintptr_t>(
        collective == Collective::kSend ? request.input : request.output);
    parts.push_back({begin, begin + request.count * type_bytes(request.type)});
  }
  std::sort(parts.begin(), parts.end(), [](Part a, Part b) { return a.begin < b.begin; });
  return parts;
}

void require_apart(const char* function, const std::vector<Request>& requests) {
  const std::vector<Part> sent = parts_of(requests, Collective::kSend);
  const std::vector<Part> received = parts_of(requests, Collective::kRecv);
  for (size_t i = 1; i < received.size(); ++i)
    if (received[i].begin < received[i - 1].end)
      fail(ncclInvalidArgument, "{}: parts of recvbuff overlap at {:#x}", function,
           received[i].begin);
  // Parts of what is sent may overlap each other, so the one that ends last counts.
  uintptr_t sent_until = 0;
  size_t next = 0;
  for (const Part& part : received) {
    for (; next < sent.size() && sent[next].begin < part.end; ++next)
      sent_until = std::max(sent_until, sent[next].end);
    if (part.begin < sent_until)
      fail(ncclInvalidArgument, "{}: sendbuff and recvbuff overlap at {:#x}; it is never in place",
           function, part.begin);
  }
}

}  // namespace

std::vector<Request> requests_of(const char* function, const Communicator& comm,
                                 const AllToAllV& call) {
  comm.require_ready(function);
  const size_t element = require_type(function, call.type);
  require_arrays(function, call);
  const auto at = [&](const void* buffer, size_t bytes) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(buffer) + bytes);
  };
  std::vector<Request> requests;
  requests.reserve(2 * size_t(comm.size()));
  for (int rank = 0; rank < comm.size(); ++rank) {
    const size_t send_count = call.send_counts[rank], receive_count = call.receive_counts[rank];
    if (send_count > 0) require_pointer(function, "sendbuff", call.input);
    if (receive_count > 0) require_pointer(function, "recvbuff", call.output);
    const size_t send_at = offset_of(function, "sdispls", rank, call.send_at[rank], element);
    const size_t receive_at = offset_of(function, "rdispls", rank, call.receive_at[rank], element);
    requests.push_back({Collective::kSend, at(call.input, send_at), nullptr, send_count, call.type,
                        ncclSum, rank, call.stream});
    requests.push_back({Collective::kRecv, nullptr, at(call.output, receive_at), receive_count,
                        call.type, ncclSum, rank, call.stream});
  }
  for (Request& request : requests) validate(function, comm, request);
  require_apart(function, requests);
  return requests;
}

}  // namespace weft
