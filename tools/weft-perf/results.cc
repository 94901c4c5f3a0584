// Totals over the rows, and device lines as text. See results.h.
#include "results.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <sstream>

namespace weft::perf {
namespace {

struct Totals {
  double bandwidth = 0;
  int figures = 0;
};

void add(Summary& summary, Totals& totals, const std::optional<Placement>& placement) {
  if (!placement) return;
  totals.bandwidth += placement->ours.busbw;
  ++totals.figures;
  summary.wrong += placement->ours.wrong.value_or(0);
  if (placement->theirs) summary.wrong += placement->theirs->wrong.value_or(0);
  if (!placement->comparison) return;
  ++summary.compared;
  if (placement->comparison->slower) ++summary.slower;
}

}  // namespace

std::string format_device_lines(const std::vector<DeviceLine>& lines) {
  std::string text;
  for (const DeviceLine& d : lines) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", d.rank, d.process_id, d.device, d.host,
                        d.bus_id, d.name, d.arch);
  }
  return text;
}

std::vector<DeviceLine> parse_device_lines(const std::string& text) {
  std::vector<DeviceLine> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::array<std::string, 7> fields;
    std::stringstream words(line);
    for (std::string& field : fields) std::getline(words, field, '\t');
    lines.push_back({std::atoi(fields[0].c_str()), std::atoi(fields[1].c_str()),
                     std::atoi(fields[2].c_str()), fields[3], fields[4], fields[5], fields[6]});
  }
  return lines;
}

Summary summarise(const Results& results, double required_bandwidth) {
  Summary summary;
  Totals totals;
  for (const Row& row : results.rows) {
    add(summary, totals, row.out_of_place);
    add(summary, totals, row.in_place);
  }
  if (totals.figures > 0) summary.bus_bandwidth = totals.bandwidth / totals.figures;
  summary.required_bandwidth = required_bandwidth;
  return summary;
}

}  // namespace weft::perf
