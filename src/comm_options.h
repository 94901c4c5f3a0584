// The ncclConfig_t of a call, read safely: callers are compiled against headers of any age.
// Owns: size, magic and version checks, which fields exist in which version, ranges. The
// environment is not looked at here.
#pragma once

#include <rccl/rccl.h>

#include <string>

namespace weft {

struct CommOptions {
  bool blocking = true;
  int min_ctas = 0, max_ctas = 0;  // 0: not said
  std::string name;                // commName
};

// `config` may be null: all defaults. Throws Error(ncclInvalidArgument) naming the field and its
// value.
CommOptions read_options(const ncclConfig_t* config);

}  // namespace weft
