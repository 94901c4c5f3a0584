// The JSON record. See json_record.h.
#include "json_record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "failure.h"
#include "gpu.h"

namespace weft::perf {
namespace {

using nlohmann::json;

constexpr double kMicro = 1e6, kGiga = 1e-9;
// Variables that can change a figure. No other is recorded.
constexpr const char* kPrefixes[] = {"NCCL_",      "RCCL_",  "WEFT_", "HSA_",
                                     "HIP_",       "ROCR_",  "CUDA_", "OMPI_COMM_WORLD_",
                                     "SLURM_JOB_", "MASTER_"};

json in_us(const std::vector<double>& seconds) {
  json list = json::array();
  for (double each : seconds) list.push_back(each * kMicro);
  return list;
}

json singles_json(const std::vector<double>& singles) {
  return {{"min_us", percentile(singles, 0) * kMicro},
          {"median_us", median(singles) * kMicro},
          {"p99_us", percentile(singles, 0.99) * kMicro},
          {"max_us", percentile(singles, 1) * kMicro},
          {"samples_us", in_us(singles)}};
}

json measured_json(const Measured& m) {
  json out{{"time_us", m.seconds * kMicro},
           {"algbw_GBs", m.algbw * kGiga},
           {"busbw_GBs", m.busbw * kGiga},
           {"blocks_us", in_us(m.blocks)}};
  out["wrong"] = m.wrong ? json(*m.wrong) : json(nullptr);
  if (!m.singles.empty()) out["latency"] = singles_json(m.singles);
  return out;
}

json placement_json(const Placement& p) {
  json out{{"ours", measured_json(p.ours)}};
  if (p.theirs) out["theirs"] = measured_json(*p.theirs);
  if (p.comparison) {
    const Comparison& c = *p.comparison;
    out["ratio"] = {{"theirs_over_ours", c.ratio},
                    {"low", c.interval.low},
                    {"high", c.interval.high},
                    {"coverage", c.interval.coverage},
                    {"method", "order statistics of the ratios of paired blocks"},
                    {"slower", c.slower}};
  }
  return out;
}

json row_json(const Row& row) {
  json out{{"cycle", row.cycle}, {"size_bytes", row.bytes}, {"count", row.count},
           {"type", row.type},   {"redop", row.op},         {"root", row.root}};
  if (row.out_of_place) out["out_of_place"] = placement_json(*row.out_of_place);
  if (row.in_place) out["in_place"] = placement_json(*row.in_place);
  return out;
}

json environment_json() {
  json out = json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    for (const char* prefix : kPrefixes) {
      if (text.rfind(prefix, 0) == 0) out[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  return out;
}

json options_json(const Options& o) {
  return {{"min_bytes", o.sweep.min_bytes},
          {"max_bytes", o.sweep.max_bytes},
          {"step_bytes", o.sweep.step_bytes},
          {"step_factor", o.sweep.step_factor},
          {"iterations", o.iterations},
          {"warmup", o.warmup},
          {"aggregate", o.aggregate},
          {"blocks", o.blocks},
          {"threads", o.threads},
          {"gpus", o.gpus},
          {"checks", o.checks},
          {"graph_launches", o.graph_launches},
          {"registration", static_cast<int>(o.registration)},
          {"blocking", static_cast<int>(o.blocking)},
          {"across_ranks", static_cast<int>(o.across)},
          {"report_cpu_time", o.cpu_time},
          {"null_stream", o.null_stream},
          {"misalign_elements", o.misalign},
          {"buffers", o.buffers == BufferSource::kLibrary ? "library" : "device"}};
}

json devices_json(const Results& results) {
  json list = json::array();
  for (const DeviceLine& d : results.devices) {
    list.push_back({{"rank", d.rank},
                    {"host", d.host},
                    {"pid", d.process_id},
                    {"device", d.device},
                    {"bus_id", d.bus_id},
                    {"name", d.name},
                    {"arch", d.arch}});
  }
  return list;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm broken{};
  gmtime_r(&now, &broken);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &broken);
  return text;
}

}  // namespace

void write_json(const std::string& file, const std::string& command, const Options& options,
                const Results& results, const Summary& summary) {
  json record{{"tool", "weft-perf"},
              {"version", WEFT_VERSION},
              {"finished", utc_now()},
              {"command", command},
              {"collective", options.collective},
              {"hip_runtime_version", runtime_version()},
              {"options", options_json(options)},
              {"environment", environment_json()},
              {"devices", devices_json(results)},
              {"ranks", results.devices.size()},
              {"libraries", json::array()},
              {"rows", json::array()}};
  for (const LibraryLine& library : results.libraries) {
    record["libraries"].push_back(
        {{"label", library.label}, {"path", library.path}, {"version", library.version}});
  }
  for (const Row& row : results.rows) record["rows"].push_back(row_json(row));
  record["summary"] = {{"wrong", summary.wrong},
                       {"avg_busbw_GBs", summary.bus_bandwidth * kGiga},
                       {"compared", summary.compared},
                       {"slower", summary.slower},
                       {"ok", summary.ok()}};
  std::ofstream stream(file);
  stream << record.dump(2) << '\n';
  stream.close();
  if (!stream) fail("cannot write {}: {}", file, std::strerror(errno));
}

}  // namespace weft::perf
