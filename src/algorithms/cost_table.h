// A cost table as a file, such as `weft-perf calibrate` writes. Owns: the format (docs/tuning.md)
// and what is refused. Does not own: what the figures are used for (platform/cost_table.h,
// select.h), who reads the file (init.cc). Pure: text in, table out.
#pragma once

#include <string>
#include <string_view>

#include "launch_shape.h"

namespace weft {

// More is no cost table.
inline constexpr size_t kMostCostFileBytes = 64 << 10;

struct CostFile {
  std::string device;  // as the runtime names it
  int ranks = 0;
  platform::CostTable costs;
};

// What the text leaves out stays as in `built_in`; so does a platform's choice never to go without
// copies. Throws Error(ncclInvalidUsage) that names line and key.
CostFile read_cost_file(std::string_view text, const platform::CostTable& built_in);

}  // namespace weft
