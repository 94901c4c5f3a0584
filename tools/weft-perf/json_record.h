// --json: everything a run found, with what is needed to judge it later.
#pragma once

#include <string>

#include "options.h"
#include "results.h"

namespace weft::perf {

// Throws Failure when the file cannot be written. `command` is the command line.
void write_json(const std::string& file, const std::string& command, const Options& options,
                const Results& results, const Summary& summary);

}  // namespace weft::perf
