// Algorithms that come as data: who sends what to whom, step by step, in the XML of MSCCL. Owns:
// the model, reading it (read.cc), and saying whether it does what it claims
// (check.cc). Nothing here runs one; what runs it may trust what check_schedule passed.
//
// Vocabulary. place: a rank. block: a list of steps of a place, run one after another; the blocks
// of a place run side by side. A block has at most one place it sends to and one it receives from.
// chunk: what a step moves `count` of, numbered within a buffer of one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.h"

namespace weft {

enum class ScheduleBuffer : uint8_t { kInput, kOutput, kScratch };

struct ScheduleRange {
  ScheduleBuffer buffer = ScheduleBuffer::kInput;
  int first = 0;  // chunk; `count` of the step follow
};

// A step takes a message, when it receives, and `source`, when it reads; reduces what it has two
// of; gives the result to `target`, when it writes, and to its block's receiver, when it sends.
struct ScheduleStep {
  bool receives = false, reads = false, writes = false, sends = false;
  bool adds_to_target = false;  // the target takes part in the reduction too
  ScheduleRange source, target;
  int count = 1;
  int after_block = -1, after_step = -1;  // of the same place, to be done first; -1: none
};

struct ScheduleBlock {
  int send_to = -1, receive_from = -1;  // places
  int channel = 0;                      // blocks that talk to each other have the same one
  std::vector<ScheduleStep> steps;
};

struct SchedulePlace {
  int input_chunks = 0, output_chunks = 0, scratch_chunks = 0;
  std::vector<ScheduleBlock> blocks;
};

struct Schedule {
  std::string name, protocol;
  Collective collective = Collective::kAllReduce;
  int channels = 1;
  int chunks = 1;  // in a loop of the longer buffer
  bool in_place = false, out_of_place = false;
  uint64_t min_bytes = 0, max_bytes = 0;  // max_bytes 0: no limit
  std::vector<SchedulePlace> places;      // up to 64
};

// Throws Error(ncclInvalidUsage) that names the element and what is wrong with it.
Schedule read_schedule(std::string_view xml);

// Whether every place finds the right contributions in its output, whatever the speed of blocks and
// links, when a flow between two blocks holds `slots` messages. Empty: right. Else what is wrong:
// deadlock, a message that nobody takes, steps of two blocks that may touch a chunk at the same
// time, a chunk that is read before it holds anything, a wrong output.
std::string check_schedule(const Schedule& schedule, int slots);

}  // namespace weft
