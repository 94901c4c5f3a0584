// The settings as one frozen struct: every row of the table over what the environment and the conf
// files say. Owns: aliases, settings that bound each other, the one-time lines about values and
// unknown names. Does not own: where values come from (config_sources.cc), the rows
// (config_table.cc), what one row does with one value (config_apply.cc). Next on the path: the
// communicator's init takes the result.
#include "config.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "config_apply.h"
#include "config_known.h"
#include "config_sources.h"
#include "config_table.h"
#include "error.h"
#include "log.h"

namespace weft {

namespace {

// True the first time in this process that `text` is offered.
bool first_time(const std::string& text) {
  static std::mutex mutex;
  static auto& said =
      *new std::set<std::string>;  // never destroyed: threads may log while the process exits
  std::lock_guard lock(mutex);
  return said.insert(text).second;
}

void warn_once(const std::string& text) {
  if (!text.empty() && first_time(text)) log_warn("{}", text);
}

void info_once(const std::string& text) {
  if (log_enabled(LogLevel::kInfo, Subsystem::kEnv) && first_time(text))
    log_info(Subsystem::kEnv, "{}", text);
}

struct Given {
  std::string name;  // the one of the row's names that was used
  const SourcedValue* value = nullptr;
};

// What a row was given: the source that comes first, and within one source the name rather than the
// alias.
Given find_given(const Sources& sources, const Setting& row) {
  Given best;
  for (std::string_view name : {row.name, row.alias}) {
    auto found = sources.values.find(name);
    if (name.empty() || found == sources.values.end()) continue;
    if (!best.value || found->second.priority < best.value->priority)
      best = {std::string(name), &found->second};
  }
  return best;
}

std::string nearest_name(std::string_view name) {
  std::string_view best;
  size_t best_distance = name.size() / 3;  // farther than that is another word
  auto offer = [&](std::string_view candidate) {
    if (candidate.empty()) return;
    size_t distance = edit_distance(name, candidate);
    if (distance > best_distance || (!best.empty() && distance == best_distance)) return;
    best = candidate;
    best_distance = distance;
  };
  for (const Setting& row : settings()) {
    offer(row.name);
    offer(row.alias);
  }
  for (std::string_view known : known_unused_names()) offer(known);
  return std::string(best);
}

bool is_setting(std::string_view name) {
  return std::ranges::any_of(
      settings(), [&](const Setting& row) { return row.name == name || row.alias == name; });
}

void report_unused_names(const Sources& sources) {
  for (const auto& [name, given] : sources.values) {
    if (is_setting(name)) continue;
    if (is_known_unused(name)) {
      info_once(fmt::format("{} (set by {}) is known but has no effect here.", name, given.origin));
      continue;
    }
    std::string nearest = nearest_name(name);
    warn_once(fmt::format("{} (set by {}) is not a setting of this library{}.", name, given.origin,
                          nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
  }
}

// For ranges of two settings: `low` must not be above `high` where both are set.
void check_order(const char* low_name, std::optional<int> low, const char* high_name,
                 std::optional<int> high) {
  if (low && high && *low > *high)
    fail(ncclInvalidUsage, "{}={} is above {}={}", low_name, *low, high_name, *high);
}

}  // namespace

std::shared_ptr<const Config> read_config() {
  Sources sources = read_process_sources();
  for (const std::string& problem : sources.problems) warn_once(problem);
  report_unused_names(sources);

  auto config = std::make_shared<Config>();
  LogConfig log_config;  // applied by log.cc; here only to report what is wrong with it
  for (const Setting& row : settings()) {
    auto [name, given] = find_given(sources, row);
    if (!given) continue;
    warn_once(apply(row, *given, *config));
    warn_once(apply(row, *given, log_config));
    info_once(fmt::format("{} set by {} to {}.", name, given->origin, given->value));
  }
  check_order("NCCL_MIN_NCHANNELS", config->min_channels, "NCCL_MAX_NCHANNELS",
              config->max_channels);
  check_order("NCCL_MIN_CTAS", config->min_ctas, "NCCL_MAX_CTAS", config->max_ctas);
  return config;
}

std::string settings_all_ranks_share(const Config& config) {
  const Config defaults;
  std::string text;
  for (const Setting& row : settings()) {
    if (row.scope != Scope::kAllRanks) continue;
    std::string value = value_text(row, config);
    if (value != value_text(row, defaults)) text += fmt::format("{}={}\n", row.name, value);
  }
  return text;
}

std::vector<SettingInfo> list_settings() {
  const Config defaults;
  Sources sources = read_process_sources();
  std::vector<SettingInfo> list;
  for (const Setting& row : settings()) {
    SettingInfo info;
    info.name = row.name;
    info.aliases = row.alias;
    info.type = type_text(row);
    info.range = range_text(row);
    info.scope = scope_text(row);
    info.default_text = value_text(row, defaults);
    info.help = row.help;
    if (auto [name, given] = find_given(sources, row); given) {
      info.value = given->value;
      info.origin = given->origin;
    }
    list.push_back(std::move(info));
  }
  return list;
}

// Called while the log starts: must not log.
LogConfig read_log_config() {
  Sources sources = read_process_sources();
  LogConfig config;
  for (const Setting& row : settings()) {
    auto [name, given] = find_given(sources, row);
    if (given) apply(row, *given, config);
  }
  return config;
}

}  // namespace weft
