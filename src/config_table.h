// The shape of a row of the settings table. Owns: which kinds of value there are and what may be
// said about one. The rows are in config_table.cc, how a row is applied in config_apply.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "config.h"

namespace weft {

// Where the value goes; its type decides how the text is read. Monostate: used by config_sources.cc
// itself.
using SettingField =
    std::variant<std::monostate, std::string Config::*, std::optional<int> Config::*,
                 std::optional<int64_t> Config::*, uint32_t Config::*, bool Config::*,
                 std::chrono::milliseconds Config::*, std::string LogConfig::*>;

enum class Scope : uint8_t {
  kProcess,       // read when the process first logs
  kCommunicator,  // read when a communicator is created
  kAllRanks,      // the same, and every rank of the communicator must have the same value
};

enum class OutOfRange : uint8_t {
  kReject,  // ncclInvalidUsage: there is no harmless reading
  kClamp,   // the nearest allowed value and one WARN, where RCCL goes on too
  kIgnore,  // one WARN, as if it were not set
};

struct Setting {
  std::string_view name;
  std::string_view alias = {};
  SettingField field;
  Scope scope;
  // Numbers: smallest, largest and step. Durations: in milliseconds, while users write seconds.
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
  int64_t multiple = 1;
  OutOfRange out_of_range = OutOfRange::kReject;
  // Texts: what is allowed in words, and whether a value is.
  std::string_view allowed = {};
  bool (*check)(std::string_view) = nullptr;
  std::string_view help;
};

std::span<const Setting> settings();

}  // namespace weft
