// The algorithms of the library, one row each: what it does and under which names users know it.
#pragma once

#include <span>
#include <string_view>

#include "algorithms/pattern.h"
#include "device/kernels.h"

namespace weft {

struct AlgorithmRow {
  std::string_view label;   // in reports
  std::string_view family;  // as in NCCL_ALGO
  PatternId pattern;

  constexpr Collective collective() const { return pattern_collective(pattern); }
};

// In the order of PatternId.
std::span<const AlgorithmRow> algorithms();

std::string_view protocol_name(Protocol protocol);  // as in NCCL_PROTO

}  // namespace weft
