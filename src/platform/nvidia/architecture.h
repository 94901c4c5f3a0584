// What the library must know of an architecture by its name: nvidia platform. Every platform folder
// has this file.
#pragma once

#include <string_view>

namespace weft::platform {

// Whether devices of this architecture read fp8 as FNUZ: all read OCP.
inline bool fp8_is_fnuz(std::string_view) { return false; }

// Whether some device is so; else the kernels for FNUZ are left out.
inline constexpr bool kHasFnuz = false;

}  // namespace weft::platform
