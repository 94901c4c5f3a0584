// The table on stdout: nccl-tests' header, columns and footer; with --vs one line a placement, both
// libraries side by side. Owns: text only. Scripts that read nccl-tests' output read this one.
#pragma once

#include <string>

#include "options.h"
#include "results.h"

namespace weft::perf {

std::string table_head(const Options& options, const Results& results);
// One or two lines.
std::string table_row(const Row& row, bool versus);
std::string table_foot(const Options& options, const Results& results, const Summary& summary);

}  // namespace weft::perf
