// What the library must know of an architecture by its name: amd platform. Every platform folder
// has this file.
#pragma once

#include <string_view>

namespace weft::platform {

// Whether devices of this architecture read fp8 as FNUZ: gfx940 to gfx942 do, later ones read OCP.
inline bool fp8_is_fnuz(std::string_view arch) { return arch.substr(0, 5) == "gfx94"; }

// Whether some device is so; else the kernels for FNUZ are left out.
inline constexpr bool kHasFnuz = true;

}  // namespace weft::platform
