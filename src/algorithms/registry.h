// The algorithms of the library, one row each: what it does, over which protocols, under which
// names users know it.
#pragma once

#include <span>
#include <string_view>

#include "algorithms/collective.h"
#include "algorithms/pattern.h"
#include "device/kernels.h"

namespace weft {

struct AlgorithmRow {
  std::string_view name;  // as in NCCL_ALGO
  Collective collective;
  PatternId pattern;
};

std::span<const AlgorithmRow> algorithms();

std::string_view protocol_name(Protocol protocol);  // as in NCCL_PROTO

}  // namespace weft
