// The collectives weft-perf knows: one table row each.
// Owns: how a total size becomes counts, where in-place pointers lie, the call, the busbw factor,
// and which input element each output element comes from. Does not own: values (pattern.h), buffers
// (side.h), timing (runner.h). A new collective is one more row in collectives.cc.
#pragma once

#include <rccl/rccl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "library.h"

namespace weft::perf {

// One rank's view of one call. `count` is the count argument of the call.
struct Shape {
  int ranks, rank;
  size_t count;
  int root;
};

constexpr int kReducedOverRanks = -1;

// A run of output elements: [out, out + count) must hold the input elements [in, in + count) of
// rank `source`, or, when source is kReducedOverRanks, the reduction of those elements over all
// ranks.
struct Segment {
  size_t out, count;
  int source;
  size_t in;
};

struct CallArguments {
  const void* send;
  void* recv;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int root, rank, ranks;
  ncclComm_t comm;
  hipStream_t stream;
};

struct Collective {
  const char* name;
  bool reduces;           // takes an op
  bool rooted;            // takes a root
  bool divided;           // the total size is count x ranks
  bool in_place_checked;  // in place has a defined result (otherwise it is only timed)
  double (*bus_factor)(int ranks);
  size_t (*send_elems)(const Shape&);
  size_t (*recv_elems)(const Shape&);
  size_t (*send_in_place)(const Shape&);  // offset of the input in the shared buffer, elements
  size_t (*recv_in_place)(const Shape&);  // offset of the output
  std::vector<Segment> (*expected)(const Shape&);
  ncclResult_t (*call)(const Api&, const CallArguments&);
};

// Throws Failure(kExitUsage) listing the names. Accepts "all_reduce" and "all_reduce_perf".
const Collective& find_collective(const std::string& name);
std::vector<std::string> collective_names();

// The count argument for a total of `bytes`. Divided collectives keep every rank's part a multiple
// of 16 bytes, as nccl-tests does, so that parts stay aligned.
size_t count_for(const Collective& collective, uint64_t bytes, size_t type_bytes, int ranks);
// The size that count really moves: what the table reports.
uint64_t total_bytes(const Collective& collective, size_t count, size_t type_bytes, int ranks);

}  // namespace weft::perf
