// One row of the table applied to one value. Owns: ranges, clamping, the words of refusals, the
// texts that describe a row. Next on the path: config.cc does it for all rows.
#pragma once

#include <string>

#include "config_sources.h"
#include "config_table.h"

namespace weft {

// Stores `given` into the member that `row` names, if that member is one of `owner`.
// Returns "" or what to warn of (a value that was clamped or ignored). Throws
// Error(ncclInvalidUsage) on a refused value.
std::string apply(const Setting& row, const SourcedValue& given, Config& owner);
std::string apply(const Setting& row, const SourcedValue& given, LogConfig& owner);

// The member's value as a user would write it; "" when it is not set or not one of `owner`.
std::string value_text(const Setting& row, const Config& owner);

std::string type_text(const Setting& row);   // "number", "bytes", "switch", "seconds", "text"
std::string range_text(const Setting& row);  // what is allowed
std::string scope_text(const Setting& row);

}  // namespace weft
