// Where settings come from. Owns: reading the environment and the conf files, and which of two
// values of one name wins. Does not own: what the values mean. Next on the path: config.cc. Order,
// first wins: the environment; the user's file (NCCL_CONF_FILE, else ~/.rccl.conf and then
// ~/.nccl.conf); /etc/rccl.conf; /etc/nccl.conf. A file holds one NAME=VALUE a line; '#' starts a
// comment line. Nothing is unquoted.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace weft {

struct SourcedValue {
  std::string value;
  std::string origin;  // "environment" or the path of a file
  int priority;        // 0 is the environment; lower wins
};

struct Sources {
  std::map<std::string, SourcedValue, std::less<>>
      values;                         // NCCL_*, RCCL_* and WEFT_* only, never empty values
  std::vector<std::string> problems;  // what to warn of: unreadable file, line without '='
};

// `environment` is a null-terminated array of NAME=VALUE; `files` are read in order of priority,
// those that do not exist are passed over.
Sources read_sources(const char* const* environment, const std::vector<std::string>& files);
// The conf files that this process would read.
std::vector<std::string> conf_files(const char* const* environment);
// Both for this process.
Sources read_process_sources();

}  // namespace weft
