// What is known of a protocol on a platform (invariant 8 of the design).
#pragma once

#include <cstdint>

namespace weft::platform {

enum class Legality : uint8_t {
  kProven,    // by a stress test of this repository: taken by default
  kOnRecord,  // others use it there: taken when it is asked for by name
  kUnknown,   // taken when it is asked for by name and WEFT_UNSAFE says so
};

constexpr bool is_offered(Legality legality, bool by_name, bool unsafe) {
  return legality == Legality::kProven || (by_name && (legality == Legality::kOnRecord || unsafe));
}

}  // namespace weft::platform
