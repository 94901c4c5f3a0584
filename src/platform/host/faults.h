// Faults that tests switch on: hip_host.h lists them.
#pragma once

#include <hip/hip_host.h>

#include <string>

namespace weft::hiphost {

// WEFT_HOST_FAULTS: name[=value],... ; a name without a value means 1. Unknown names are reported
// on stderr.
void read_faults(const std::string& text);
inline bool fault(hipHostFault f) { return hipHostGetFault(f) != 0; }
// Counts one use of what `f` counts (allocations, launches); true when this one fails.
bool counted_fault(hipHostFault f);
// Returns once `f` is off; while it is on and someone waits here, its value is 2.
void hold_while_asked(hipHostFault f);

}  // namespace weft::hiphost
