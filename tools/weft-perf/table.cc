// Text of the table. See table.h.
#include "table.h"

#include <fmt/format.h>

namespace weft::perf {
namespace {

constexpr double kMicro = 1e6, kGiga = 1e-9;

// Six characters for any time: more digits the shorter it is.
std::string format_us(double seconds) {
  const double us = seconds * kMicro;
  if (us >= 10000) return fmt::format("{:.0f}", us);
  return us >= 100 ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

std::string format_wrong(const std::optional<uint64_t>& wrong) {
  return wrong ? fmt::format("{}", *wrong) : "N/A";
}

std::string identity(const Row& row) {
  return fmt::format("{:>12} {:>12}  {:>8}  {:>6}  {:>6}", row.bytes, row.count, row.type, row.op,
                     row.root);
}

std::string placement_columns(const std::optional<Placement>& placement) {
  if (!placement) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "-", "-", "-", "-");
  const Measured& m = placement->ours;
  return fmt::format("  {:>7}  {:>6.2f}  {:>6.2f}  {:>5}", format_us(m.seconds), m.algbw * kGiga,
                     m.busbw * kGiga, format_wrong(m.wrong));
}

std::string latency_text(const Measured& m, const std::string& label) {
  if (m.singles.empty()) return "";
  return fmt::format("#   {} single calls, us: min {} median {} p99 {} max {}\n", label,
                     format_us(percentile(m.singles, 0)), format_us(median(m.singles)),
                     format_us(percentile(m.singles, 0.99)), format_us(percentile(m.singles, 1)));
}

std::string latency_lines(const char* where, const std::optional<Placement>& placement) {
  if (!placement) return "";
  std::string text = latency_text(placement->ours, fmt::format("{}, ours,", where));
  if (placement->theirs) {
    text += latency_text(*placement->theirs, fmt::format("{}, theirs,", where));
  }
  return text;
}

std::string versus_line(const Row& row, const char* where, const std::optional<Placement>& p) {
  if (!p) return "";
  const Comparison& c = *p->comparison;
  return fmt::format(
      "{}  {:>6}  {:>8} {:>8}  {:>6.2f} {:>6.2f}  {:>6.3f} [{:.3f}, {:.3f}]  {:>5} {:>5}{}\n",
      identity(row), where, format_us(c.ours), format_us(c.theirs), p->ours.busbw * kGiga,
      p->theirs->busbw * kGiga, c.ratio, c.interval.low, c.interval.high,
      format_wrong(p->ours.wrong), format_wrong(p->theirs->wrong), c.slower ? "  SLOWER" : "");
}

std::string plain_columns() {
  return fmt::format("#\n# {:>10} {:>12}  {:>8}  {:>6}  {:>6}  {:^30}  {:^30}\n", "", "", "", "",
                     "", "out-of-place", "in-place") +
         fmt::format("# {:>10} {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type", "redop",
                     "root") +
         fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "time", "algbw", "busbw", "#wrong") +
         fmt::format(" {:>7}  {:>6}  {:>6}  {:>5}\n", "time", "algbw", "busbw", "#wrong") +
         fmt::format("# {:>10} {:>12}  {:>8}  {:>6}  {:>6}", "(B)", "(elements)", "", "", "") +
         fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "(us)", "(GB/s)", "(GB/s)", "") +
         fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}\n", "(us)", "(GB/s)", "(GB/s)", "");
}

std::string versus_columns(int blocks) {
  const double coverage =
      median_interval(std::vector<double>(static_cast<size_t>(blocks), 1)).coverage;
  return fmt::format(
             "#\n# Blocks in turns: {}. ratio = theirs / ours, the median over pairs of blocks; [ "
             "] its\n"
             "# interval from order statistics, {:.1f} % coverage. SLOWER: ratio below {} and the "
             "interval "
             "excludes 1.\n",
             blocks, coverage * 100, kSlowerRatio) +
         fmt::format(
             "#\n# {:>10} {:>12}  {:>8}  {:>6}  {:>6}  {:>6}  {:>8} {:>8}  {:>13}  {:>22}  "
             "{:>11}\n",
             "size", "count", "type", "redop", "root", "place", "ours", "theirs", "busbw (GB/s)",
             "ratio", "#wrong") +
         fmt::format(
             "# {:>10} {:>12}  {:>8}  {:>6}  {:>6}  {:>6}  {:>8} {:>8}  {:>6} {:>6}  {:>22}  {:>5} "
             "{:>5}\n",
             "(B)", "(elements)", "", "", "", "", "(us)", "(us)", "ours", "theirs", "95 %", "ours",
             "theirs");
}

}  // namespace

std::string table_head(const Options& o, const Results& results) {
  std::string text;
  for (const LibraryLine& library : results.libraries) {
    text += fmt::format("# weft-perf {} {} library {} version {}\n", WEFT_VERSION, library.label,
                        library.path, library.version);
  }
  const std::string step = o.sweep.step_factor > 0 ? fmt::format("{}(factor)", o.sweep.step_factor)
                                                   : fmt::format("{}(bytes)", o.sweep.step_bytes);
  text += fmt::format("# Collective test starting: {}_perf\n", o.collective);
  text += fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg "
      "iters: {} "
      "validation: {} graph: {}\n#\n# Using devices\n",
      o.threads, o.gpus, o.sweep.min_bytes, o.sweep.max_bytes, step, o.warmup, o.iterations,
      o.aggregate, o.checks, o.graph_launches);
  for (const DeviceLine& d : results.devices) {
    text += fmt::format("#  Rank {:>2} Group  0 Pid {:>6} on {:>10} device {:>2} [{}] {}{}\n",
                        d.rank, d.process_id, d.host, d.device, d.bus_id, d.name,
                        d.arch.empty() ? "" : " (" + d.arch + ")");
  }
  return text + (o.versus.empty() ? plain_columns() : versus_columns(o.blocks));
}

std::string table_row(const Row& row, bool versus) {
  const std::string latency =
      latency_lines("out-of-place", row.out_of_place) + latency_lines("in-place", row.in_place);
  if (versus) {
    return versus_line(row, "out", row.out_of_place) + versus_line(row, "in", row.in_place) +
           latency;
  }
  return identity(row) + placement_columns(row.out_of_place) + placement_columns(row.in_place) +
         "\n" + latency;
}

std::string table_foot(const Options& o, const Results& results, const Summary& s) {
  std::string text =
      fmt::format("# Out of bounds values : {} {}\n", s.wrong, s.wrong == 0 ? "OK" : "FAILED");
  text += fmt::format("# Avg bus bandwidth    : {:g} {}\n", s.bus_bandwidth * kGiga,
                      s.required_bandwidth == 0 ? ""
                      : s.bandwidth_ok()        ? "OK"
                                                : "FAILED");
  if (!o.versus.empty()) {
    text += fmt::format("# Slower than {} : {} of {} rows\n", results.libraries.back().path,
                        s.slower, s.compared);
  }
  return text + fmt::format("#\n# Collective test concluded: {}_perf\n", o.collective);
}

}  // namespace weft::perf
