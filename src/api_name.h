// The two names of a public function. Owns: WEFT_API. Does not own: the functions, their
// declarations (include/rccl/). A tracer defines ncclX itself and calls on through pncclX, so both
// names are exported: ncclX weak, pncclX strong, one body. How to add a function: README.md of this
// folder, "API functions".
#pragma once

#include <rccl/nccl_2_30.h>
#include <rccl/rccl.h>
#include <rccl/weft.h>

// WEFT_API(ncclX), on the line above the definition of ncclX in the same file, makes ncclX weak and
// gives the same body the strong name pncclX. A macro because the alias must stand in the file that
// defines its target, under a name made of ncclX. The pragmas are for deprecated functions, which
// have two names as well.
#define WEFT_API(name)                                                           \
  _Pragma("GCC diagnostic push")                                                 \
      _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"") extern "C" \
      __attribute__((weak)) decltype(name) name;                                 \
  extern "C" __attribute__((alias(#name))) decltype(name) p##name;               \
  _Pragma("GCC diagnostic pop")
