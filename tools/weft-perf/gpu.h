// The few HIP calls weft-perf makes, with their errors turned into Failures.
// Owns: checking, device facts, and the rule that only calls common to HIP on AMD, on NVIDIA and on
// our CPU runtime are used.
#pragma once

#include <hip/hip_runtime.h>

#include <string>

namespace weft::perf {

// Throws Failure "what: error text".
void check_hip(hipError_t result, const std::string& what);

int device_count();

struct DeviceFacts {
  std::string name, arch, bus_id;  // arch is "" where HIP has no name for it
};
DeviceFacts device_facts(int device);

// "60443484" of hipRuntimeGetVersion, for the JSON record.
int runtime_version();

}  // namespace weft::perf
