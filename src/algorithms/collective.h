// The collectives by name, and what follows from the name alone.
#pragma once

#include <cstdint>

namespace weft {

enum class Collective : uint8_t {
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kAllToAll,
  kGather,
  kScatter,
  kSend,
  kRecv,
};
inline constexpr int kCollectiveCount = 10;

constexpr const char* collective_name(Collective collective) {
  constexpr const char* kNames[kCollectiveCount] = {
      "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce",
      "AlltoAll",  "Gather", "Scatter",   "Send",          "Recv"};
  return unsigned(collective) < unsigned(kCollectiveCount) ? kNames[int(collective)] : "?";
}

constexpr bool reduces(Collective collective) {
  return collective == Collective::kReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kAllReduce;
}
constexpr bool is_rooted(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}
// Send and Recv concern two ranks; everything else all ranks of the communicator.
constexpr bool is_pairwise(Collective collective) {
  return collective == Collective::kSend || collective == Collective::kRecv;
}

// A buffer is one segment of `count` elements, or one segment a rank.
enum class Segments : uint8_t { kNone, kOne, kPerRank };

// What a rank reads and writes. kNone: its pointer is not looked at.
struct BufferShape {
  Segments input, output;
};
constexpr BufferShape buffer_shape(Collective collective, bool is_root) {
  switch (collective) {
    case Collective::kBroadcast:
      return {is_root ? Segments::kOne : Segments::kNone, Segments::kOne};
    case Collective::kReduce:
      return {Segments::kOne, is_root ? Segments::kOne : Segments::kNone};
    case Collective::kAllGather:
      return {Segments::kOne, Segments::kPerRank};
    case Collective::kReduceScatter:
      return {Segments::kPerRank, Segments::kOne};
    case Collective::kAllReduce:
      return {Segments::kOne, Segments::kOne};
    case Collective::kAllToAll:
      return {Segments::kPerRank, Segments::kPerRank};
    case Collective::kGather:
      return {Segments::kOne, is_root ? Segments::kPerRank : Segments::kNone};
    case Collective::kScatter:
      return {is_root ? Segments::kPerRank : Segments::kNone, Segments::kOne};
    case Collective::kSend:
      return {Segments::kOne, Segments::kNone};
    case Collective::kRecv:
      return {Segments::kNone, Segments::kOne};
  }
  return {Segments::kNone, Segments::kNone};
}

}  // namespace weft
