// How a log line looks; see log_format.h. The shapes are RCCL's, because scripts and people search
// for them.
#include "log_format.h"

#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <limits.h>
#include <rccl/rccl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <utility>

#include "config_parse.h"

namespace weft {

namespace {

struct LevelName {
  std::string_view name;
  LogLevel level;
};
constexpr std::array<LevelName, 7> kLevels = {{{"NONE", LogLevel::kNone},
                                               {"ERROR", LogLevel::kError},
                                               {"VERSION", LogLevel::kVersion},
                                               {"WARN", LogLevel::kWarn},
                                               {"INFO", LogLevel::kInfo},
                                               {"ABORT", LogLevel::kAbort},
                                               {"TRACE", LogLevel::kTrace}}};

struct SubsystemName {
  std::string_view name;
  Subsystem subsystem;
};
constexpr std::array<SubsystemName, 17> kSubsystems = {{{"INIT", Subsystem::kInit},
                                                        {"COLL", Subsystem::kColl},
                                                        {"P2P", Subsystem::kP2p},
                                                        {"SHM", Subsystem::kShm},
                                                        {"NET", Subsystem::kNet},
                                                        {"GRAPH", Subsystem::kGraph},
                                                        {"TUNING", Subsystem::kTuning},
                                                        {"ENV", Subsystem::kEnv},
                                                        {"ALLOC", Subsystem::kAlloc},
                                                        {"CALL", Subsystem::kCall},
                                                        {"PROXY", Subsystem::kProxy},
                                                        {"NVLS", Subsystem::kNvls},
                                                        {"BOOTSTRAP", Subsystem::kBootstrap},
                                                        {"REG", Subsystem::kReg},
                                                        {"PROFILE", Subsystem::kProfile},
                                                        {"RAS", Subsystem::kRas},
                                                        {"VERBS", Subsystem::kVerbs}}};
constexpr uint32_t kAll = ~0u;

constexpr uint32_t bit(LogLevel level) { return 1u << static_cast<int>(level); }
constexpr uint32_t bit(Subsystem subsystem) { return static_cast<uint32_t>(subsystem); }

// "[^]NAME,NAME,ALL" as bits; `bit_of` gives a name's bits, 0 when it knows none.
template <class F>
uint32_t parse_names(std::string_view text, F bit_of) {
  text = trim(text);
  bool invert = text.starts_with('^');
  if (invert) text.remove_prefix(1);
  uint32_t bits = 0;
  for (std::string_view name : split(text, ','))
    bits |= equals_ignoring_case(name, "ALL") ? kAll : bit_of(name);
  return invert ? ~bits : bits;
}

uint32_t level_bit(std::string_view name) {
  for (const auto& known : kLevels)
    if (equals_ignoring_case(known.name, name)) return bit(known.level);
  return 0;
}

uint32_t subsystem_bit(std::string_view name) {
  for (const auto& known : kSubsystems)
    if (equals_ignoring_case(known.name, name)) return bit(known.subsystem);
  return 0;
}

// Replaces %1f to %9f by that many digits of the second; strftime does the rest.
std::string fill_subseconds(std::string_view format, long ns) {
  std::string digits = fmt::format("{:09}", ns);
  std::string filled;
  for (size_t i = 0; i < format.size(); i++) {
    if (format[i] != '%' || i + 1 == format.size()) {
      filled += format[i];
      continue;
    }
    char kind = format[i + 1];
    if (kind >= '1' && kind <= '9' && i + 2 < format.size() && format[i + 2] == 'f') {
      filled += digits.substr(0, static_cast<size_t>(kind - '0'));
      i += 2;
    } else {  // copied with its sign, so that "%%3f" keeps its meaning
      filled += '%';
      filled += kind;
      i += 1;
    }
  }
  return filled;
}

std::string timestamp(const std::string& format) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  std::string filled = fill_subseconds(format, now.tv_nsec);
  std::array<char, 512> text;
  size_t length = strftime(text.data(), text.size(), filled.c_str(), &parts);
  return {text.data(), length};  // a format that gives more than fits gives nothing
}

double ms_since_start() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

int device_of_thread() {
  int device = -1;
  return hipGetDevice(&device) == hipSuccess ? device : -1;
}

std::string rocm_version() {
  std::ifstream file("/opt/rocm/.info/version");  // where ROCm's packages say it
  std::string version;
  return std::getline(file, version) ? version : "not installed";
}

std::string library_path() {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&version_banner), &info) != 0 && info.dli_fname
             ? info.dli_fname
             : "unknown";
}

}  // namespace

LogStyle make_style(const LogConfig& config) {
  LogStyle style;
  for (const auto& known : kLevels)
    if (equals_ignoring_case(known.name, trim(config.level))) style.level = known.level;
  style.subsystems = config.subsystems.empty()
                         ? bit(Subsystem::kInit) | bit(Subsystem::kBootstrap) | bit(Subsystem::kEnv)
                         : parse_names(config.subsystems, subsystem_bit);
  style.timestamp_levels = config.timestamp_levels.empty()
                               ? bit(LogLevel::kWarn)
                               : parse_names(config.timestamp_levels, level_bit);
  style.timestamp_format = config.timestamp_format.empty() ? "[%F %T] " : config.timestamp_format;
  std::ranges::replace(style.timestamp_format, '_', ' ');
  return style;
}

std::string format_line(const LogStyle& style, LogLevel level, Subsystem subsystem, LogPlace place,
                        std::string_view text) {
  if (level == LogLevel::kVersion) return fmt::format("{}\n", text);
  std::string stamp =
      (style.timestamp_levels & bit(level)) != 0 ? timestamp(style.timestamp_format) : "";
  std::string who =
      fmt::format("{}{}:{}:{}", stamp, short_host_name(), getpid(), syscall(SYS_gettid));
  if (subsystem == Subsystem::kCall) return fmt::format("{} NCCL CALL {}\n", who, text);
  who += fmt::format(" [{}]", device_of_thread());
  switch (level) {
    case LogLevel::kError:
      return fmt::format("{} [FATAL ERROR]: {}\n", who, text);
    case LogLevel::kWarn:
      return fmt::format("\n{} {}:{} NCCL WARN {}\n", who, base_name(place.file), place.line, text);
    case LogLevel::kAbort:
      return fmt::format("{} NCCL ABORT {}\n", who, text);
    case LogLevel::kTrace:
      return fmt::format("{} {:.6f} {}:{} NCCL TRACE {}\n", who, ms_since_start(),
                         base_name(place.file), place.line, text);
    default:
      return fmt::format("{} NCCL INFO {}\n", who, text);
  }
}

std::string expand_path(std::string_view path) {
  std::string expanded;
  for (size_t i = 0; i < path.size(); i++) {
    char kind = path[i] == '%' && i + 1 < path.size() ? path[i + 1] : '\0';
    if (kind == 'h')
      expanded += short_host_name();
    else if (kind == 'p')
      expanded += fmt::format("{}", getpid());
    else if (kind == '%')
      expanded += '%';
    else
      expanded += path[i];
    if (kind == 'h' || kind == 'p' || kind == '%') i++;
  }
  return expanded;
}

std::string short_host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  std::string_view whole = name.data();
  return std::string(whole.substr(0, whole.find('.')));
}

std::string version_banner() {
  int hip = 0;
  if (hipRuntimeGetVersion(&hip) != hipSuccess) hip = 0;
  return fmt::format(
      "RCCL version : {}.{}.{}-weft{}\nHIP version  : {}\nROCm version : {}\nHostname     : "
      "{}\nLibrccl path : {}",
      NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH, WEFT_VERSION, hip, rocm_version(), short_host_name(),
      library_path());
}

}  // namespace weft
