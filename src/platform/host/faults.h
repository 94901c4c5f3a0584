// Faults that tests switch on: hip_host.h lists them.
#pragma once

#include <hip/hip_host.h>

#include <string>

namespace weft::hiphost {

// WEFT_HOST_FAULTS: name[=value],... ; a name without a value means 1. Unknown names are reported
// on stderr.
void read_faults(const std::string& text);
inline bool fault(hipHostFault f) { return hipHostGetFault(f) != 0; }
// Counts one device allocation; true when hipHostFaultMalloc makes this one fail.
bool allocation_fails();

}  // namespace weft::hiphost
