// Rules and choice (select.h).
#include "algorithms/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "error.h"

namespace weft {
namespace {

// Every name that a user may write; what this version lacks is a valid name that leaves less.
constexpr std::string_view kAlgorithmNames =
    ",tree,ring,collnetdirect,collnetchain,nvls,nvlstree,pat,";
constexpr std::string_view kProtocolNames = ",ll,ll128,simple,";
constexpr std::string_view kFunctions[] = {"broadcast", "reduce", "allgather", "reducescatter",
                                           "allreduce"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find(at, from), text.size());
    if (to > from) parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

bool listed(std::string_view list, const std::string& name) {
  return list.find("," + name + ",") != std::string_view::npos;
}

}  // namespace

bool Rules::Names::allow(std::string_view name) const {
  return listed(names, lower(name)) != exclude;
}

Rules::Table Rules::parse(const char* variable, const std::string& text,
                          std::string_view known_names) {
  Table table;
  bool first = true;
  for (const std::string& entry : split(lower(text), ';')) {
    const size_t colon = entry.find(':');
    const std::string function = colon == std::string::npos ? "" : entry.substr(0, colon);
    if (function.empty() && !first)
      fail(ncclInvalidUsage, "{}={}: only the first entry may leave out the function", variable,
           text);
    if (!function.empty() &&
        std::find(std::begin(kFunctions), std::end(kFunctions), function) == std::end(kFunctions))
      fail(ncclInvalidUsage,
           "{}={}: {} is no function; there are broadcast, reduce, allgather, reducescatter, "
           "allreduce",
           variable, text, function);
    first = false;
    std::string list = colon == std::string::npos ? entry : entry.substr(colon + 1);
    Names names;
    names.exclude = !list.empty() && list[0] == '^';
    if (names.exclude) list.erase(0, 1);
    names.names = "," + list + ",";
    for (const std::string& name : split(list, ','))
      if (!listed(known_names, name))
        fail(ncclInvalidUsage, "{}={}: {} is no name; there are {}", variable, text, name,
             known_names.substr(1, known_names.size() - 2));
    for (int c = 0; c < kCollectiveCount; ++c)
      if (function.empty() || function == lower(collective_name(Collective(c)))) table[c] = names;
  }
  return table;
}

Rules::Rules(const std::string& algo, const std::string& proto)
    : algorithms_(parse("NCCL_ALGO", algo, kAlgorithmNames)),
      protocols_(parse("NCCL_PROTO", proto, kProtocolNames)) {
  require_something(algo, proto);
}

bool Rules::allows(Collective collective, std::string_view algorithm) const {
  return algorithms_[int(collective)].allow(algorithm);
}
bool Rules::allows(Collective collective, Protocol protocol) const {
  return protocols_[int(collective)].allow(protocol_name(protocol));
}

void Rules::require_something(const std::string& algo, const std::string& proto) const {
  for (int c = 0; c < kCollectiveCount; ++c)
    if (select(Collective(c), *this).algorithm == nullptr)
      fail(ncclInvalidUsage,
           "NCCL_ALGO={} NCCL_PROTO={} leave nothing for {}: this version has Ring with Simple",
           algo, proto, collective_name(Collective(c)));
}

Choice select(Collective collective, const Rules& rules) {
  for (const AlgorithmRow& row : algorithms())
    for (int p = 0; p < kProtocolCount; ++p)
      if (row.collective == collective && rules.allows(collective, row.name) &&
          rules.allows(collective, Protocol(p)))
        return {&row, Protocol(p)};
  return {nullptr, Protocol::kSimple};
}

}  // namespace weft
