// The collectives that tests/amd runs, as a table: how much each rank gives and gets, the call, and
// what must come out. A further collective is a row in operations.cc.
#pragma once

#include <hip/hip_runtime.h>

#include "element.h"

namespace amd_test {

// One call on one rank.
struct Call {
  const Element* element;
  ncclRedOp_t op;
  int rank, ranks, root;
  size_t count;
  const void* input;
  void* output;
  ncclComm_t comm;
  hipStream_t stream;
};

constexpr uint64_t kUntouched = ~uint64_t(0);  // an element of the output that must stay as it was

struct Operation {
  const char* name;
  bool reduces;
  bool gives_all, gets_all;  // `count` elements for each rank, else `count` in all
  ncclResult_t (*run)(const Call& call);
  // Of element `index` of the output.
  uint64_t (*wanted)(const Call& call, size_t index);
  bool adds_output = false;  // what lies in the output before the call, bias(), is added
};

extern const Operation kOperations[];
extern const size_t kOperationCount;

// What `rank` gives at `index`; the output of an operation that adds it.
uint64_t contribution(const Call& call, int rank, size_t index);
uint64_t bias(const Call& call, size_t index);

// The root of a call of `count` elements: another one for another count.
int root_of(size_t count, int ranks);

}  // namespace amd_test
