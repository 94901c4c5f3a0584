// One call of any kind under test, as all ranks see it, and what every rank must then hold. The
// model is sequential and shares no code with the library; inputs are such that every order of
// adding gives the same bits (../../support/reduction_model.h). Next: rank_operation.h.
#pragma once

#include <rccl/rccl.h>

#include <string>
#include <vector>

#include "../../support/reduction_model.h"

namespace weft::test {

enum class Call {
  kAllReduce,
  kAllReduceWithBias,
  kReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kAlltoAll,
  kGather,
  kScatter,
  kAlltoAllv,  // messages: one of every pair
  kMessages,   // sends and receives
};
inline constexpr int kCallCount = int(Call::kMessages) + 1;

constexpr bool reduces(Call call) { return call <= Call::kReduceScatter; }
constexpr bool has_root(Call call) {
  return call == Call::kReduce || call == Call::kBroadcast || call == Call::kGather ||
         call == Call::kScatter;
}
constexpr bool has_messages(Call call) { return call >= Call::kAlltoAllv; }
// Its longest buffer holds a segment of every rank.
constexpr bool is_segmented(Call call) {
  return call == Call::kReduceScatter || call == Call::kAllGather || call == Call::kAlltoAll ||
         call == Call::kGather || call == Call::kScatter;
}

struct Message {
  int from, to;
  size_t count;
};

// Whose scalars a pre-multiplied sum has; kNone: `op` is what it says.
enum class Scalar { kNone, kHost, kDevice };

struct Operation {
  Call call = Call::kAllReduce;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  Scalar scalar = Scalar::kNone;
  size_t count = 0;
  int root = 0;
  bool in_place = false;
  size_t send_offset = 0, receive_offset = 0;  // in elements from 16-byte alignment
  uint64_t seed = 1;                           // of the data and of small choices
  std::vector<Message> messages;
  int schedule = 0;  // not 0: the handle of what carries it out (mscclRunAlgo)

  std::string text() const;
  bool bit(int n) const { return mix(seed + 77) >> n & 1; }  // a small choice, equal on all ranks
};

// A sum of floats, out of place.
inline Operation all_reduce(size_t count, uint64_t seed) {
  Operation o;
  o.count = count;
  o.seed = seed;
  return o;
}

// Whether the simulated devices read fp8 as FNUZ: CDNA3 does, nothing else.
bool devices_are_fnuz();

using Bytes = std::vector<char>;

// Of one rank: memory before and after. What a call must not touch is equal in both.
struct Memory {
  Bytes before, after;  // `before` empty: guard bytes
  size_t offset = 0;    // in bytes from 16-byte alignment
};
struct Place {
  int memory = -1;  // -1: the call gets NULL
  size_t at = 0;    // bytes
};
struct RankPart {
  std::vector<Memory> memories;
  Place send, receive, bias;
  uint64_t scalar = 0;
  // Of messages: bytes from the start of send or receive, by index in Operation::messages.
  std::vector<size_t> send_at, receive_at;
};

RankPart part_of(const Operation& operation, int rank, int ranks);

}  // namespace weft::test
