// Log lines in RCCL's shapes, which scripts and users grep. Owns: levels, subsystems, file, line
// format. The text of the last warning of the process is kept for ncclGetLastError. Thread rule:
// every function may be called from any thread, also in a child after fork; a line is written by
// one write(2). Nothing here throws: a line that cannot be built or written is lost, the work it
// speaks of goes on.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace weft {

// NCCL_DEBUG, in RCCL's order: kError is RCCL's default when the variable is unset.
enum class LogLevel : int { kNone, kError, kVersion, kWarn, kInfo, kAbort, kTrace };

// Bits of NCCL_DEBUG_SUBSYS.
enum class Subsystem : uint32_t {
  kInit = 0x1,
  kColl = 0x2,
  kP2p = 0x4,
  kShm = 0x8,
  kNet = 0x10,
  kGraph = 0x20,
  kTuning = 0x40,
  kEnv = 0x80,
  kAlloc = 0x100,
  kCall = 0x200,
  kProxy = 0x400,
  kNvls = 0x800,
  kBootstrap = 0x1000,
  kReg = 0x2000,
  kProfile = 0x4000,
  kRas = 0x8000,
  kVerbs = 0x10000,
};

bool log_enabled(LogLevel level, Subsystem subsystem) noexcept;

// Where a message was written, for the `file:line` of a WARN.
struct LogPlace {
  const char* file;
  int line;
};

void log_line(LogLevel level, Subsystem subsystem, LogPlace place, std::string_view text) noexcept;
// The same, formatting first; what the templates below come down to.
void log_formatted(LogLevel level, Subsystem subsystem, LogPlace place, fmt::string_view format,
                   fmt::format_args args) noexcept;
// RCCL's version lines, at NCCL_DEBUG=VERSION and above. Said by rank 0 of a communicator.
void log_version_banner() noexcept;
// Re-reads the NCCL_DEBUG variables (ncclResetDebugInit, tests).
void log_reset() noexcept;
// The last text given to log_warn or log_error in this process; "" when none.
std::string log_last_warning();

// A format string that remembers where it was written.
template <class... Args>
struct LogFormat {
  template <class S>
  consteval LogFormat(const S& text, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE())
      : format(text), place{file, line} {}
  fmt::format_string<Args...> format;
  LogPlace place;
};

template <class... Args>
void log_warn(LogFormat<std::type_identity_t<Args>...> f, Args&&... args) {
  log_formatted(LogLevel::kWarn, Subsystem::kInit, f.place, f.format,
                fmt::make_format_args(args...));
}

template <class... Args>
void log_error(LogFormat<std::type_identity_t<Args>...> f, Args&&... args) {
  log_formatted(LogLevel::kError, Subsystem::kInit, f.place, f.format,
                fmt::make_format_args(args...));
}

// Formats only when the line would be written.
template <class... Args>
void log_info(Subsystem subsystem, LogFormat<std::type_identity_t<Args>...> f, Args&&... args) {
  if (!log_enabled(LogLevel::kInfo, subsystem)) return;
  log_formatted(LogLevel::kInfo, subsystem, f.place, f.format, fmt::make_format_args(args...));
}

}  // namespace weft
