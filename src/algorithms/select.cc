// Rules and choice (select.h).
#include "algorithms/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/chunks.h"
#include "error.h"
#include "launch_shape.h"

namespace weft {
namespace {

// Every name that a user may write; what this version lacks is a valid name that leaves less.
constexpr std::string_view kAlgorithmNames =
    ",tree,ring,direct,collnetdirect,collnetchain,nvls,nvlstree,pat,";
constexpr std::string_view kProtocolNames = ",ll,ll128,simple,";
constexpr std::string_view kFunctions[] = {"broadcast", "reduce", "allgather", "reducescatter",
                                           "allreduce"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string> split_text(const std::string& text, char at) {
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

bool is_offered(Protocol protocol, bool by_name, bool unsafe) {
  return protocol != Protocol::kLl128 ||
         platform::is_offered(platform::kLl128Legality, by_name, unsafe);
}

bool Rules::Names::allow(std::string_view name) const {
  return listed(names, lower(name)) != exclude;
}

Rules::Table Rules::parse(const char* variable, const std::string& text,
                          std::string_view known_names) {
  Table table;
  bool first = true;
  for (const std::string& entry : split_text(lower(text), ';')) {
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
    names.by_function = !function.empty();
    names.exclude = !list.empty() && list[0] == '^';
    if (names.exclude) list.erase(0, 1);
    names.names = "," + list + ",";
    for (const std::string& name : split_text(list, ','))
      if (!listed(known_names, name))
        fail(ncclInvalidUsage, "{}={}: {} is no name; there are {}", variable, text, name,
             known_names.substr(1, known_names.size() - 2));
    for (int c = 0; c < kCollectiveCount; ++c)
      if (function.empty() || function == lower(collective_name(Collective(c)))) table[c] = names;
  }
  return table;
}

Rules::Rules(const std::string& algo, const std::string& proto, bool unsafe)
    : unsafe_(unsafe),
      algorithms_(parse("NCCL_ALGO", algo, kAlgorithmNames)),
      protocols_(parse("NCCL_PROTO", proto, kProtocolNames)) {
  require_something(algo, proto);
}

bool Rules::allows(Collective collective, std::string_view family) const {
  return algorithms_[int(collective)].allow(family);
}
bool Rules::allows(Collective collective, Protocol protocol) const {
  return protocols_[int(collective)].allow(protocol_name(protocol));
}

bool Rules::asks_for(Collective collective, Protocol protocol) const {
  return !protocols_[int(collective)].exclude && allows(collective, protocol);
}

bool Rules::leaves_something(Collective collective) const {
  const auto allowed = [&](const AlgorithmRow& row) {
    return row.collective() == collective && allows(collective, row.family);
  };
  bool protocol = false;
  for (int p = 0; p < kProtocolCount; ++p)
    protocol |= allows(collective, Protocol(p)) &&
                is_offered(Protocol(p), asks_for(collective, Protocol(p)), unsafe_);
  return protocol && std::any_of(algorithms().begin(), algorithms().end(), allowed);
}

void Rules::require_something(const std::string& algo, const std::string& proto) {
  for (int c = 0; c < kCollectiveCount; ++c) {
    const auto collective = Collective(c);
    if (is_pairwise(collective) || leaves_something(collective)) continue;
    // Most users mean all-reduce.
    if (algorithms_[c].by_function || protocols_[c].by_function ||
        collective == Collective::kAllReduce)
      fail(ncclInvalidUsage,
           "NCCL_ALGO={} NCCL_PROTO={} leave nothing for {} of what this version has", algo, proto,
           collective_name(collective));
    algorithms_[c] = Names{};
    if (!leaves_something(collective)) protocols_[c] = Names{};
  }
}

bool folds_in_rank_order(PatternId id) {
  return id == PatternId::kOneShotAllReduce || id == PatternId::kTwoShotAllReduce ||
         id == PatternId::kDirectReduceScatter || id == PatternId::kShardedReduce ||
         id == PatternId::kOneShotReduce;
}

namespace {

const platform::WireCost& cost_of(const platform::CostTable& costs, Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl:
      return costs.ll;
    case Protocol::kLl128:
      return costs.ll128;
    case Protocol::kSimple:
      break;
  }
  return costs.simple;
}

bool is_direct(const AlgorithmRow& row) { return row.family == "Direct"; }

// One shot folds everything everywhere. For short operations; two shots are there for others (two
// H200, 1 GiB: 240 against 294 GB/s, 2026-11-30).
bool is_wasteful(PatternId pattern, Protocol protocol) {
  return (pattern == PatternId::kOneShotAllReduce || pattern == PatternId::kOneShotBroadcast ||
          pattern == PatternId::kOneShotReduce) &&
         protocol == Protocol::kSimple;
}

}  // namespace

Selector::Selector(const Rules& rules, int ranks, bool in_rank_order, size_t zero_copy_bytes,
                   const platform::CostTable& costs)
    : ranks_(ranks), zero_copy_bytes_(zero_copy_bytes), costs_(costs) {
  for (const AlgorithmRow& row : algorithms()) {
    const Collective collective = row.collective();
    if (!rules.allows(collective, row.family)) continue;
    if (in_rank_order && reduces(collective) && !folds_in_rank_order(row.pattern)) continue;
    const PatternCost cost = pattern_cost(row.pattern, ranks);
    for (int p = 0; p < kProtocolCount; ++p)
      if (rules.allows(collective, Protocol(p)) && !is_wasteful(row.pattern, Protocol(p)) &&
          is_offered(Protocol(p), rules.asks_for(collective, Protocol(p)), rules.unsafe()))
        candidates_[int(collective)].push_back({{&row, Protocol(p)}, cost});
  }
  for (std::vector<Candidate>& all : candidates_)  // of equals the shorter way
    std::ranges::stable_sort(all, {}, [](const Candidate& each) {
      const AlgorithmRow& row = *each.choice.algorithm;
      return is_one_hop(row.pattern) ? 0 : is_direct(row) ? 1 : 2;
    });
  for (int c = 0; c < kCollectiveCount; ++c)
    if (candidates_[c].empty() && !is_pairwise(Collective(c)))
      fail(
          ncclInvalidUsage,
          "WEFT_DETERMINISTIC=1 leaves nothing of NCCL_ALGO for {}: it must fold in rank order, as "
          "Direct does",
          collective_name(Collective(c)));
}

namespace {

// Bytes of a chunk of all loops together.
double chunk_bytes(PatternId pattern, int ranks, size_t segment_bytes) {
  const BufferShape shape = buffer_shape(pattern_collective(pattern), true);
  const bool cut = shape.input != Segments::kPerRank && shape.output != Segments::kPerRank;
  return double(segment_bytes) / (cut ? pattern_chunks(pattern, ranks) : 1);
}

}  // namespace

// Whole packs, and the chunks of the direct algorithm that takes over when a buffer is not reached.
bool Selector::goes_without_copies(const Choice& choice, size_t segment_bytes) const {
  constexpr size_t kMostBytes = size_t(1) << 36;  // of a buffer: kernels count packs in 32 bits
  return zero_copy_bytes_ > 0 && segment_bytes >= zero_copy_bytes_ &&
         segment_bytes <= kMostBytes / size_t(ranks_) && segment_bytes % kPackBytes == 0 &&
         choice.protocol == Protocol::kSimple && is_direct(*choice.algorithm) &&
         pattern_chunks(choice.algorithm->pattern, ranks_) == ranks_;
}

// Without copies: everybody hears of everybody twice, and the bytes pass the links as they do in
// the direct algorithm.
platform::CostTable::Estimate Selector::estimate(const Candidate& candidate,
                                                 size_t segment_bytes) const {
  const PatternCost& cost = candidate.cost;
  const double bytes = std::max(cost.sent, cost.received) *
                       chunk_bytes(candidate.choice.algorithm->pattern, ranks_, segment_bytes);
  if (goes_without_copies(candidate.choice, segment_bytes))
    return costs_.estimate(costs_.zero_copy, 2, bytes);
  return costs_.estimate(cost_of(costs_, candidate.choice.protocol), cost.latency, bytes);
}

Choice Selector::choose(Collective collective, size_t segment_bytes, bool long_lines) const {
  const std::vector<Candidate>& all = candidates_[int(collective)];
  const auto key = [&](const Candidate& each) {
    const bool unfit = !long_lines && each.choice.protocol == Protocol::kLl128;
    return std::pair(unfit, estimate(each, segment_bytes).us);
  };
  const auto cheapest = std::ranges::min_element(all, {}, key);
  Choice choice = cheapest->choice;
  choice.zero_copy = goes_without_copies(choice, segment_bytes);
  const platform::CostTable::Estimate estimated = estimate(*cheapest, segment_bytes);
  choice.us = estimated.us;
  choice.channels = estimated.blocks;
  return choice;
}

}  // namespace weft
