// One cost table for all ranks (agree_costs.h).
#include "agree_costs.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "algorithms/cost_table.h"
#include "error.h"
#include "log.h"

namespace weft {
namespace {

std::string text_of_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostCostFileBytes + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (file.bad() || !file.is_open() || (file.gcount() == 0 && errno != 0))
    fail(ncclInvalidUsage, "WEFT_COST_FILE={} cannot be read: {}", path, std::strerror(errno));
  text.resize(size_t(file.gcount()));
  return text;
}

// Why the communicator cannot use it; empty: it can.
std::string misfit(const CostFile& file, const std::string& device, int ranks) {
  if (file.device != device)
    return fmt::format("it is of device {}, this one is {}", file.device, device);
  return file.ranks == ranks ? "" : fmt::format("it is of {} ranks", file.ranks);
}

}  // namespace

std::string cost_file_text(const Config& config, int rank) {
  if (rank != 0 || config.cost_file.empty()) return "";
  std::string text = text_of_file(config.cost_file);
  try {
    read_cost_file(text, platform::kCosts);
  } catch (const Error& error) {
    throw Error(error.code(), "WEFT_COST_FILE=" + config.cost_file, error);
  }
  return text;
}

platform::CostTable agree_costs(Bootstrap& bootstrap, const std::string& own_text,
                                const std::string& device) {
  // Rank 0 decides, also whether it fits: its device is the one that counts.
  struct {
    std::string text, why_not;
  } own;
  if (bootstrap.rank() == 0) {
    const CostFile file = read_cost_file(own_text, platform::kCosts);
    own.why_not = misfit(file, device, bootstrap.size());
    if (own.why_not.empty()) own.text = own_text;
    if (file.device != device) log_warn("WEFT_COST_FILE is not used: {}", own.why_not);
  }
  const std::string text = bootstrap.all_gather_texts(own.text).front();
  if (text.empty()) {
    log_info(Subsystem::kTuning, "costs: built in, not those of WEFT_COST_FILE{}{}",
             own.why_not.empty() ? " of rank 0" : ": ", own.why_not);
    return platform::kCosts;
  }
  const CostFile file = read_cost_file(text, platform::kCosts);
  log_info(Subsystem::kTuning, "costs: WEFT_COST_FILE of rank 0, {}, {} ranks", file.device,
           file.ranks);
  return file.costs;
}

}  // namespace weft
