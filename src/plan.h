// What a launch is: a kernel, its shape and its arguments. Made by planner.cc, given to the device
// by launch.cc.
#pragma once

#include <vector>

#include "communicator.h"
#include "device/work.h"

namespace weft {

struct Launch {
  const void* kernel;
  uint32_t grid;
  uint32_t threads;
  hipStream_t stream;
  KernelArgs args;  // the order words are filled in by launch()
};

// The launches for requests of one communicator, in order: requests that follow one another with
// the same kernel and stream share a launch. A request of no elements is a work of no loops, so
// that ranks count it too.
std::vector<Launch> plan(Communicator& comm, const std::vector<Request>& requests);

}  // namespace weft
