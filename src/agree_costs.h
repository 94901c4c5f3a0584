// Which cost table a communicator chooses by: the built-in one, or that of the file which
// WEFT_COST_FILE names on rank 0. Owns: reading the file and giving it to all ranks, so that all
// decide alike. Does not own: its format (algorithms/cost_table.h). Next on the path of an init:
// algorithms/select.h.
#pragma once

#include <string>

#include "bootstrap/bootstrap.h"
#include "config.h"
#include "launch_shape.h"

namespace weft {

// The text of the file, on rank 0; empty elsewhere and without the setting. Throws
// Error(ncclInvalidUsage) when it cannot be read or is damaged, naming file, line and key.
std::string cost_file_text(const Config& config, int rank);

// On all ranks: the table of rank 0's text, if it is of this kind of device and this many ranks.
// Says which one is used (NCCL_DEBUG_SUBSYS=TUNING). `device`: the current one, as the runtime
// names it.
platform::CostTable agree_costs(Bootstrap& bootstrap, const std::string& own_text,
                                const std::string& device);

}  // namespace weft
