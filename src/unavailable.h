// How a public function refuses that a later version will have.
#pragma once

#include <rccl/rccl.h>

namespace weft {

// Sets the last error to "<name>: not available in this version", logs it, returns
// ncclInvalidUsage.
ncclResult_t unavailable(const char* name) noexcept;

}  // namespace weft
