// The rows (registry.h).
#include "algorithms/registry.h"

#include <iterator>

namespace weft {
namespace {

constexpr AlgorithmRow kAlgorithms[] = {
    {"Ring", Collective::kAllReduce, PatternId::kRingAllReduce},
};
static_assert(std::size(kAlgorithms) == size_t(kPatternCount));

}  // namespace

std::span<const AlgorithmRow> algorithms() { return kAlgorithms; }

std::string_view protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::kSimple:
      return "Simple";
  }
  return "?";
}

}  // namespace weft
