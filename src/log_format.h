// How a log line looks. Owns: RCCL's line shapes, levels and subsystems by name, time stamps, the
// version banner. Next on the path: log.cc writes the lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config.h"
#include "log.h"

namespace weft {

// The NCCL_DEBUG settings, understood.
struct LogStyle {
  LogLevel level = LogLevel::kError;
  uint32_t subsystems = 0;        // bits of Subsystem
  uint32_t timestamp_levels = 0;  // bit per LogLevel
  std::string timestamp_format;
};

LogStyle make_style(const LogConfig& config);

// The whole line with its newline. A WARN starts with an empty line. `text` may be of any length.
std::string format_line(const LogStyle& style, LogLevel level, Subsystem subsystem, LogPlace place,
                        std::string_view text);

// NCCL_DEBUG_FILE with %h, %p and %% replaced; other signs stay.
std::string expand_path(std::string_view path);

// The host's name up to the first dot.
std::string short_host_name();

std::string version_banner();

}  // namespace weft
