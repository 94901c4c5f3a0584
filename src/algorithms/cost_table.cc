// Reading a cost table (cost_table.h).
#include "algorithms/cost_table.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "config_parse.h"
#include "error.h"

namespace weft {
namespace {

using platform::BlockCurve;
using platform::CostTable;
using platform::WireCost;

constexpr int64_t kFormat = 1;
constexpr int64_t kMostRanks = 1 << 20, kMostBlocks = 1024;
// Far beyond any machine, far from overflow.
constexpr double kMostUs = 1e6, kMostBytesPerUs = 1e9;

// Where a value stands, for what is said of it.
struct Entry {
  int line;
  std::string_view key, value;
};

[[noreturn]] void refuse_entry(const Entry& entry, std::string_view why) {
  fail(ncclInvalidUsage, "line {}: {}={}: {}", entry.line, entry.key, entry.value, why);
}

std::optional<double> parse_decimal(std::string_view text) {
  text = trim(text);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size()) return {};
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

int64_t whole(const Entry& entry, int64_t least, int64_t most) {
  const std::optional<int64_t> value = parse_integer(entry.value);
  if (!value || *value < least || *value > most)
    refuse_entry(entry, fmt::format("not a number of {} to {}", least, most));
  return *value;
}

double microseconds(const Entry& entry) {
  const std::optional<double> value = parse_decimal(entry.value);
  if (!value || *value < 0 || *value > kMostUs)
    refuse_entry(entry, fmt::format("not a number of 0 to {}", kMostUs));
  return *value;
}

BlockCurve::Point point(const Entry& entry, std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) refuse_entry(entry, "not blocks:bytes,blocks:bytes,...");
  const std::optional<int64_t> blocks = parse_integer(text.substr(0, colon));
  const std::optional<double> bytes = parse_decimal(text.substr(colon + 1));
  if (!blocks || *blocks < 1 || *blocks > kMostBlocks)
    refuse_entry(entry, fmt::format("blocks are 1 to {}", kMostBlocks));
  if (!bytes || *bytes <= 0 || *bytes > kMostBytesPerUs)
    refuse_entry(entry,
                 fmt::format("bytes a microsecond are above 0 and at most {}", kMostBytesPerUs));
  return {uint32_t(*blocks), *bytes};
}

BlockCurve curve(const Entry& entry) {
  std::vector<BlockCurve::Point> points;
  for (const std::string_view part : split(entry.value, ',')) {
    points.push_back(point(entry, part));
    if (points.size() > 1 && points[points.size() - 2].blocks >= points.back().blocks)
      refuse_entry(entry, "not in the order of blocks");
  }
  if (points.empty() || points.size() > size_t(BlockCurve::kMostPoints))
    refuse_entry(entry, fmt::format("1 to {} points are allowed", BlockCurve::kMostPoints));
  return {points.data(), int(points.size())};
}

// "ll128.hop_us" means hop_us of table.ll128. Null: no such name.
WireCost* wire_of(CostTable& table, std::string_view name) {
  if (name == "ll") return &table.ll;
  if (name == "ll128") return &table.ll128;
  if (name == "simple") return &table.simple;
  return name == "zero_copy" ? &table.zero_copy : nullptr;
}

bool take_wire(const Entry& entry, CostTable& table) {
  const size_t dot = entry.key.find('.');
  if (dot == std::string_view::npos) return false;
  WireCost* const wire = wire_of(table, entry.key.substr(0, dot));
  const std::string_view what = entry.key.substr(dot + 1);
  if (wire == nullptr) return false;
  if (what == "hop_us") {
    wire->hop_us = microseconds(entry);
  } else if (what == "bytes_per_us") {
    wire->bytes_per_us = curve(entry);
  } else {
    return false;
  }
  return true;
}

void take(const Entry& entry, CostFile& file) {
  CostTable& table = file.costs;
  if (entry.key == "format") {
    if (parse_integer(entry.value) != kFormat)
      refuse_entry(entry, fmt::format("this version reads format {}", kFormat));
  } else if (entry.key == "device") {
    file.device = entry.value;
  } else if (entry.key == "ranks") {
    file.ranks = int(whole(entry, 2, kMostRanks));
  } else if (entry.key == "launch_us") {
    table.launch_us = microseconds(entry);
  } else if (entry.key == "block_us") {
    table.block_us = microseconds(entry);
  } else if (entry.key == "zero_copy.from_bytes") {
    const int64_t bytes = whole(entry, 0, std::numeric_limits<int64_t>::max());
    if (table.zero_copy_bytes > 0) table.zero_copy_bytes = size_t(bytes);
  } else if (!take_wire(entry, table)) {
    refuse_entry(entry, "no such key");
  }
}

// A line of a file without its end. Nothing: empty or a comment.
std::optional<Entry> entry_of(std::string_view line, int number) {
  line = trim(line);
  if (line.empty() || line.front() == '#') return {};
  const size_t equals = line.find('=');
  const Entry entry{number, trim(line.substr(0, equals)),
                    equals == std::string_view::npos ? "" : trim(line.substr(equals + 1))};
  if (equals == std::string_view::npos)
    fail(ncclInvalidUsage, "line {}: {}: not KEY=VALUE", number, entry.key);
  if (entry.value.empty()) refuse_entry(entry, "no value");
  return entry;
}

}  // namespace

CostFile read_cost_file(std::string_view text, const platform::CostTable& built_in) {
  if (text.size() > kMostCostFileBytes)
    fail(ncclInvalidUsage, "more than {} bytes", kMostCostFileBytes);
  CostFile file{"", 0, built_in};
  std::set<std::string_view> seen;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (const std::optional<Entry> entry = entry_of(text.substr(0, end), number)) {
      if (!seen.insert(entry->key).second) refuse_entry(*entry, "a second time");
      if (entry->key != "format" && !seen.contains("format")) refuse_entry(*entry, "before format");
      take(*entry, file);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  for (const std::string_view key : {"format", "device", "ranks"})
    if (!seen.contains(key)) fail(ncclInvalidUsage, "{} is missing", key);
  return file;
}

}  // namespace weft
