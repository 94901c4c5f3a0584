// The collectives by name.
#pragma once

#include <cstdint>

namespace weft {

enum class Collective : uint8_t { kAllReduce };
inline constexpr int kCollectiveCount = 1;

constexpr const char* collective_name(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "AllReduce";
  }
  return "?";
}

}  // namespace weft
