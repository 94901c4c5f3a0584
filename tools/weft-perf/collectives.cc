// The table of collectives. See collectives.h for what the columns mean.
#include "collectives.h"

#include <fmt/format.h>

#include "failure.h"

namespace weft::perf {
namespace {

constexpr size_t kPartAlignment = 16;  // bytes

// busbw factors of nccl-tests' PERFORMANCE notes: what the busiest link must carry over what the
// call reports.
double bus_all_reduce(int n) { return 2.0 * (n - 1) / n; }
double bus_shared(int n) { return static_cast<double>(n - 1) / n; }
double bus_whole(int) { return 1.0; }

size_t one(const Shape& s) { return s.count; }
size_t each_rank(const Shape& s) { return s.count * static_cast<size_t>(s.ranks); }
size_t at_start(const Shape&) { return 0; }
size_t at_own_part(const Shape& s) { return s.count * static_cast<size_t>(s.rank); }
size_t at_root_only_each(const Shape& s) { return s.rank == s.root ? each_rank(s) : 0; }
size_t at_root_only_one(const Shape& s) { return s.rank == s.root ? s.count : 0; }
size_t part_inside_roots_buffer(const Shape& s) { return s.rank == s.root ? at_own_part(s) : 0; }

std::vector<Segment> all_reduced(const Shape& s) { return {{0, s.count, kReducedOverRanks, 0}}; }
std::vector<Segment> own_part_reduced(const Shape& s) {
  return {{0, s.count, kReducedOverRanks, at_own_part(s)}};
}
std::vector<Segment> reduced_at_root(const Shape& s) {
  return s.rank == s.root ? all_reduced(s) : std::vector<Segment>{};
}
std::vector<Segment> roots_input(const Shape& s) { return {{0, s.count, s.root, 0}}; }
std::vector<Segment> roots_part(const Shape& s) { return {{0, s.count, s.root, at_own_part(s)}}; }
std::vector<Segment> previous_rank(const Shape& s) {
  return {{0, s.count, (s.rank + s.ranks - 1) % s.ranks, 0}};
}

std::vector<Segment> from_each(const Shape& s, size_t in) {
  std::vector<Segment> segments;
  for (int rank = 0; rank < s.ranks; ++rank) {
    segments.push_back({s.count * static_cast<size_t>(rank), s.count, rank, in});
  }
  return segments;
}
std::vector<Segment> every_input(const Shape& s) { return from_each(s, 0); }
std::vector<Segment> own_part_of_each(const Shape& s) { return from_each(s, at_own_part(s)); }
std::vector<Segment> every_input_at_root(const Shape& s) {
  return s.rank == s.root ? every_input(s) : std::vector<Segment>{};
}

ncclResult_t call_all_reduce(const Api& api, const CallArguments& a) {
  return api.all_reduce(a.send, a.recv, a.count, a.type, a.op, a.comm, a.stream);
}
ncclResult_t call_all_gather(const Api& api, const CallArguments& a) {
  return api.all_gather(a.send, a.recv, a.count, a.type, a.comm, a.stream);
}
ncclResult_t call_reduce_scatter(const Api& api, const CallArguments& a) {
  return api.reduce_scatter(a.send, a.recv, a.count, a.type, a.op, a.comm, a.stream);
}
ncclResult_t call_broadcast(const Api& api, const CallArguments& a) {
  return api.broadcast(a.send, a.recv, a.count, a.type, a.root, a.comm, a.stream);
}
ncclResult_t call_reduce(const Api& api, const CallArguments& a) {
  return api.reduce(a.send, a.recv, a.count, a.type, a.op, a.root, a.comm, a.stream);
}
ncclResult_t call_alltoall(const Api& api, const CallArguments& a) {
  return required(api, api.alltoall, "ncclAlltoAll")(a.send, a.recv, a.count, a.type, a.comm,
                                                     a.stream);
}
ncclResult_t call_gather(const Api& api, const CallArguments& a) {
  return required(api, api.gather, "ncclGather")(a.send, a.recv, a.count, a.type, a.root, a.comm,
                                                 a.stream);
}
ncclResult_t call_scatter(const Api& api, const CallArguments& a) {
  return required(api, api.scatter, "ncclScatter")(a.send, a.recv, a.count, a.type, a.root, a.comm,
                                                   a.stream);
}

// To the next rank and from the previous one. The group is always closed, so that a failed call
// leaves none open.
ncclResult_t call_sendrecv(const Api& api, const CallArguments& a) {
  const auto send = required(api, api.send, "ncclSend");
  const auto recv = required(api, api.recv, "ncclRecv");
  const int next = (a.rank + 1) % a.ranks, previous = (a.rank + a.ranks - 1) % a.ranks;
  const ncclResult_t started = api.group_start();
  if (started != ncclSuccess) return started;
  ncclResult_t result = send(a.send, a.count, a.type, next, a.comm, a.stream);
  if (result == ncclSuccess) {
    result = recv(a.recv, a.count, a.type, previous, a.comm, a.stream);
  }
  const ncclResult_t ended = api.group_end();
  return result == ncclSuccess ? ended : result;
}

// name, reduces, rooted, divided, in place checked, bus factor,
//   send elems, recv elems, send in place, recv in place, expected, call
constexpr Collective kCollectives[] = {
    {"all_reduce", true, false, false, true, bus_all_reduce,  //
     one, one, at_start, at_start, all_reduced, call_all_reduce},
    {"all_gather", false, false, true, true, bus_shared,  //
     one, each_rank, at_own_part, at_start, every_input, call_all_gather},
    {"reduce_scatter", true, false, true, true, bus_shared,  //
     each_rank, one, at_start, at_own_part, own_part_reduced, call_reduce_scatter},
    {"broadcast", false, true, false, true, bus_whole,  //
     one, one, at_start, at_start, roots_input, call_broadcast},
    {"reduce", true, true, false, true, bus_whole,  //
     one, at_root_only_one, at_start, at_start, reduced_at_root, call_reduce},
    {"alltoall", false, false, true, false, bus_shared,  //
     each_rank, each_rank, at_start, at_start, own_part_of_each, call_alltoall},
    {"sendrecv", false, false, false, false, bus_whole,  //
     one, one, at_start, at_start, previous_rank, call_sendrecv},
    {"gather", false, true, true, true, bus_shared,  //
     one, at_root_only_each, part_inside_roots_buffer, at_start, every_input_at_root, call_gather},
    {"scatter", false, true, true, true, bus_shared,  //
     at_root_only_each, one, at_start, part_inside_roots_buffer, roots_part, call_scatter},
};

}  // namespace

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const Collective& collective : kCollectives) names.emplace_back(collective.name);
  return names;
}

const Collective& find_collective(const std::string& name) {
  for (const Collective& collective : kCollectives) {
    if (name == collective.name || name == std::string(collective.name) + "_perf")
      return collective;
  }
  std::string known;
  for (const std::string& each : collective_names()) known += " " + each;
  fail_usage("'{}' is not a collective; known:{}", name, known);
}

size_t count_for(const Collective& collective, uint64_t bytes, size_t type_bytes, int ranks) {
  const size_t elems = bytes / type_bytes;
  if (!collective.divided) return elems;
  const size_t step = kPartAlignment / type_bytes;
  return elems / static_cast<size_t>(ranks) / step * step;
}

uint64_t total_bytes(const Collective& collective, size_t count, size_t type_bytes, int ranks) {
  return count * type_bytes * (collective.divided ? static_cast<size_t>(ranks) : 1);
}

}  // namespace weft::perf
