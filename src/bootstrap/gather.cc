// Joining the parts of one round.
#include "bootstrap/gather.h"

#include <algorithm>

#include "error.h"

namespace weft {

GatherRounds::Round& GatherRounds::open(uint64_t round) {
  auto& found = rounds_[round];
  found.parts.resize(shape_.children.size());
  return found;
}

uint64_t GatherRounds::add_own(GatherKind kind, uint64_t bytes_each, std::string text) {
  const uint64_t round = next_own_++;
  Gather own{round, kind, bytes_each, {}};
  own.texts.push_back(std::move(text));
  open(round).own = std::move(own);
  return round;
}

bool GatherRounds::add_child(size_t child, Gather part) {
  if (part.texts.size() != static_cast<size_t>(shape_.children[child].size())) return false;
  // A child cannot be further than one round ahead, nor send a round twice.
  if (part.round > next_own_ || (part.round < next_own_ && !rounds_.contains(part.round)))
    return false;
  auto& slot = open(part.round).parts[child];
  if (slot) return false;
  slot = std::move(part);
  return true;
}

std::optional<Gather> GatherRounds::take_complete(uint64_t round) {
  const auto at = rounds_.find(round);
  if (at == rounds_.end() || !at->second.own) return std::nullopt;
  Round& open = at->second;
  if (std::any_of(open.parts.begin(), open.parts.end(), [](const auto& part) { return !part; }))
    return std::nullopt;
  Gather joined = std::move(*open.own);
  for (size_t i = 0; i < open.parts.size(); i++) {
    Gather& part = *open.parts[i];
    if (part.kind != joined.kind || part.bytes_each != joined.bytes_each)
      fail(ncclInvalidUsage, "ranks made different calls: rank {} {}, rank {} {}", shape_.rank,
           joined.call_text(), shape_.children[i].first, part.call_text());
    std::move(part.texts.begin(), part.texts.end(), std::back_inserter(joined.texts));
  }
  rounds_.erase(at);
  return joined;
}

std::vector<RankRange> GatherRounds::missing(uint64_t round) const {
  std::vector<RankRange> ranges;
  const auto at = rounds_.find(round);
  if (at == rounds_.end()) return ranges;
  for (size_t i = 0; i < at->second.parts.size(); i++)
    if (!at->second.parts[i]) ranges.push_back(shape_.children[i]);
  return ranges;
}

}  // namespace weft
