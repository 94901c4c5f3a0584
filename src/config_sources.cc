// The environment and the conf files as one map; see config_sources.h. Nothing here logs: log.cc
// reads its own settings through this file, so what is wrong is handed up as text.
#include "config_sources.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "config_parse.h"

extern char** environ;

namespace weft {

namespace {

constexpr std::string_view kConfFileVariable = "NCCL_CONF_FILE";
constexpr std::array<std::string_view, 2> kFileNames = {"rccl.conf", "nccl.conf"};

bool is_ours(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("RCCL_") || name.starts_with("WEFT_");
}

std::string home_folder() {
  // getpwuid rather than HOME, as RCCL does: a launcher may have changed HOME.
  std::array<char, 16384> text;  // far above the 1 KiB that entries need in practice
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, text.data(), text.size(), &found) != 0 || !found) return {};
  return found->pw_dir ? found->pw_dir : "";
}

std::optional<std::string> value_in(const char* const* environment, std::string_view name) {
  for (; environment && *environment; environment++) {
    std::string_view entry = *environment;
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
  }
  return std::nullopt;
}

void add(Sources& sources, std::string_view name, std::string_view value, std::string_view origin,
         int priority) {
  if (!is_ours(name) || value.empty()) return;
  // emplace keeps the first: sources come in order of priority.
  sources.values.emplace(std::string(name),
                         SourcedValue{std::string(value), std::string(origin), priority});
}

void read_file(Sources& sources, const std::string& path, int priority) {
  errno = 0;
  std::ifstream file(path);
  if (!file) {
    if (errno != ENOENT && errno != ENOTDIR)
      sources.problems.push_back(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    return;
  }
  std::string line;
  for (int number = 1; std::getline(file, line); number++) {
    std::string_view text = trim(line);
    if (text.empty() || text.front() == '#') continue;
    size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      sources.problems.push_back(fmt::format("{}:{}: not NAME=VALUE, ignored", path, number));
      continue;
    }
    add(sources, trim(text.substr(0, equals)), trim(text.substr(equals + 1)), path, priority);
  }
}

}  // namespace

std::vector<std::string> conf_files(const char* const* environment) {
  std::vector<std::string> files;
  auto named = value_in(environment, kConfFileVariable);
  if (named && !named->empty()) {
    files.push_back(*named);
  } else if (std::string home = home_folder(); !home.empty()) {
    for (auto name : kFileNames) files.push_back(fmt::format("{}/.{}", home, name));
  }
  for (auto name : kFileNames) files.push_back(fmt::format("/etc/{}", name));
  return files;
}

Sources read_sources(const char* const* environment, const std::vector<std::string>& files) {
  Sources sources;
  for (auto entry = environment; entry && *entry; entry++) {
    std::string_view text = *entry;
    size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    add(sources, text.substr(0, equals), text.substr(equals + 1), "environment", 0);
  }
  for (size_t i = 0; i < files.size(); i++) read_file(sources, files[i], static_cast<int>(i) + 1);
  // A file that was asked for by name and is not there is a mistake; the default places may be
  // empty.
  auto named = sources.values.find(kConfFileVariable);
  if (named != sources.values.end() && access(named->second.value.c_str(), F_OK) != 0)
    sources.problems.push_back(fmt::format("{} names {}: {}", kConfFileVariable,
                                           named->second.value, std::strerror(errno)));
  return sources;
}

Sources read_process_sources() { return read_sources(environ, conf_files(environ)); }

}  // namespace weft
