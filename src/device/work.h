// What a kernel is told: the communicator as the device sees it, and the operations of one launch.
// Plain data, written by the host (planner.cc, device_state.cc), read by kernel.h. Sizes are bytes
// unless the name says more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithms/chunks.h"
#include "algorithms/step.h"
#include "device/box.h"
#include "device/op_arg.h"

namespace weft {

// Bounds of one launch. A kernel's arguments stay well under the 4 KiB that every runtime allows.
inline constexpr uint32_t kMaxWorks = 8;
inline constexpr uint32_t kMaxTasks = 56;
inline constexpr uint32_t kMaxChannels = 128;

// Where a wait gave up, and why; the first block of a launch that gives up writes it (invariant 5).
struct Fault {
  // kClosed: a graph was launched after its communicator had been destroyed.
  enum Kind : uint32_t { kNone, kAborted, kDeadline, kMismatch, kPeerWentOn, kClosed };
  enum Wait : uint32_t { kData, kCredit, kEarlierKernel, kMessage, kMessageRoom };
  uint32_t kind;
  uint32_t wait;
  uint32_t rank;  // the peer waited for
  uint32_t channel;
  uint64_t expected;  // the word that was waited for: counter32 | signature32
  uint64_t seen;
  uint64_t sequence;  // of the operation, counted per communicator
};

// Words in host memory that the host writes and kernels read, and the other way round for the
// fault.
struct HostWords {
  uint32_t abort;  // not 0: leave at once
  Fault fault;
};

// DeviceWords::fault_reports of a closed communicator, and more as kernels find that out.
inline constexpr uint32_t kClosed = 1u << 31;

// Words in device memory that kernels write, for a later kernel and for reports.
struct DeviceWords {
  // Blocks of eager kernels that have left, in all, in the upper half: what a ticket waits for.
  uint64_t eager_left;
  // Blocks of kernels in graphs that were begun (counted by block 0), and that have left.
  uint64_t graph_left;  // upper half
  uint32_t graph_begun;
  uint32_t fault_reports;  // waits that gave up, the first is in HostWords; kClosed by the host
  uint32_t zero_copies;    // channels of operations, and receives, that took a peer's buffer
  // Operations begun before this kernel, counting empty ones, as each block counts them: a block
  // may end before another one begins. Block 0 counts for those that a kernel has not.
  uint32_t sequence[kMaxChannels];
  uint32_t stage[kMaxChannels];  // steps a channel has gone through in its operation
};

// Slices sent and received so far on one channel of a region with one peer; wraps.
struct FlowCounters {
  uint32_t sent, received;
};

struct DevicePeer {
  char* inbox;
  char* outbox;
};

// Of one communicator; what the pointers name lies in device memory.
struct DeviceComm {
  int32_t rank, size;
  BoxLayout box;
  uint32_t wire_version;
  const DevicePeer* peers;  // [size], by rank
  FlowCounters* counters;   // [kRegionCount][size][box.channels]
  DeviceWords* words;
  HostWords* host;

  WEFT_HD FlowCounters& counter(Region region, size_t peer, uint32_t channel) const {
    return counters[(size_t(region) * size + peer) * box.channels + channel];
  }
};

// What to add to an address of a buffer so that a peer reaches it, in device memory. The host
// writes the numbers, then `reached`, while kernels run.
struct Reach {
  uint64_t reached;  // not 0: by all peers
  int64_t shift[1];  // [size], by rank
};

// What a rank does, in device memory.
struct StepList {
  const Step* steps;
  int32_t count;
};
// How an operation goes when all ranks reach each other's buffers (algorithms/patterns/mapped.h).
struct MappedWork {
  StepList list;  // null: ranks do not ask each other
  // Where peers reach this rank's input and output. Null: they do not.
  const Reach* input;
  const Reach* output;
};

// One operation of a collective launch.
struct Work {
  const void* input;
  void* output;
  const void* bias;     // null, or like output: added once to what was reduced
  size_t input_stride;  // elements from a chunk's segment to the next one's; 0: one segment
  size_t output_stride;
  Chunking chunking;
  OpArg op;
  uint32_t slice_packs;  // packs in one slot
  uint32_t
      signature;  // of the call: collective, count, type, op, root, algorithm, protocol, channels
  StepList list;  // for even channels; behind it, as long, one for odd channels (step_tables.h)
  Region region;
  MappedWork mapped;
  // Works that run side by side lie on channels of their own, as far as there are enough, from here
  // on. They are one call for their peers, with one signature: that of the last of them, which is
  // `call` operations after the first one of the launch.
  uint32_t first_channel, call;
};

// What every kernel of a communicator is told.
struct LaunchArgs {
  DeviceComm comm;
  uint64_t deadline_ns;  // on each wait, 0: none
  uint32_t works;        // operations that all ranks count
  uint32_t ticket;       // with has_ticket: the kernel begins when eager_left has reached it
  bool has_ticket;
  bool eager;  // not recorded into a graph
  bool lends;  // peers may read and write buffers of this rank
};

struct CollectiveArgs : LaunchArgs {
  Work work[kMaxWorks];
};

inline constexpr int kMostOneHopRanks = 16;

// One operation of one hop (one_hop.h). A bit a rank; `has_own`: this rank's part is among those
// that are folded or kept.
struct OneHopArgs : LaunchArgs {
  Work work;
  uint32_t gives_to, takes_from;
  bool has_own;
  bool whole_packs;  // of every segment, at addresses of packs
  DevicePeer peer[kMostOneHopRanks];
};

// One message of a pairwise launch: a part of it lies on each of `channels` channels from
// `first_channel` on. Bytes, whatever the type.
struct Task {
  enum Kind : uint8_t { kSend, kRecv, kCopy };
  const void* from;  // of a send and a copy
  // Of a receive and a copy. Of a send: where the receiver finds `from`, which it reads by itself;
  // null: it cannot.
  void* to;
  size_t bytes;
  size_t share_packs;  // of a channel, see chunks.h
  int32_t peer;
  uint32_t signature;
  uint16_t first_channel, channels, longer_shares;
  Kind kind;
  bool lines;  // short: one slice of lines on each of its channels
};

struct PairwiseArgs : LaunchArgs {
  uint32_t tasks;
  uint64_t channels_used[2];  // a bit a channel
  Task task[kMaxTasks];
};
static_assert(kMaxChannels <= 128);

// Messages that all go by lines, and of every flow no more than there are slots (short_messages.h).
inline constexpr uint32_t kMaxShortTasks = 16;
inline constexpr int kMostShortRanks = 16;

struct ShortMessageArgs : LaunchArgs {
  uint32_t tasks, channels;
  uint8_t channel[kMaxChannels];  // that have messages
  DevicePeer peer[kMostShortRanks];
  Task task[kMaxShortTasks];
};

// What a block knows of a task on the channel it works on.
struct ShortTask {
  uint32_t counter;  // slices of its flow before it
  uint32_t units;    // packs of lines, 0: it has no part
  uint32_t waits;    // not 0: there is no room for it yet
};

// One flow while a block works on it (flows.h).
struct Flow {
  char* inbox;
  char* outbox;
  uint32_t sent, received;
  // The peer's buffers, while all ranks reach them (cards.h).
  const char* input;
  char* output;
};

// What a block remembers between the exchanges of a zero-copy (cards.h).
struct CardWords {
  FlowCounters begun;
  uint32_t reached;
};

// Steps that a block has at hand (engine.h).
inline constexpr int kStepsAhead = 32;

// Memory that a block needs beside its own: its fault; the flows of one channel, by rank; then
// steps, or for messages the flows of lines, and how far each task is and what it comes after.
constexpr size_t flows_at() { return sizeof(Fault); }
constexpr size_t steps_at(int ranks) { return flows_at() + size_t(ranks) * sizeof(Flow); }
constexpr size_t line_flows_at(int ranks) { return steps_at(ranks); }
constexpr size_t tasks_at(int ranks) { return line_flows_at(ranks) + size_t(ranks) * sizeof(Flow); }
constexpr size_t cards_at(int ranks) { return steps_at(ranks) + kStepsAhead * sizeof(Step); }
constexpr size_t collective_scratch(int ranks) { return cards_at(ranks) + sizeof(CardWords); }
constexpr size_t pairwise_scratch(int ranks) {
  return tasks_at(ranks) + (2 * kMaxTasks + 1) * sizeof(uint32_t);
}
constexpr size_t short_tasks_at(int ranks) { return pairwise_scratch(ranks); }
constexpr size_t short_message_scratch(int ranks) {
  return short_tasks_at(ranks) + kMaxShortTasks * sizeof(ShortTask);
}

}  // namespace weft
