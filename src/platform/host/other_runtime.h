// Is a real HIP runtime in this process?
#pragma once

#include <string>

namespace weft::hiphost {

// Path of a loaded libamdhip64, or empty.
std::string find_other_runtime();

}  // namespace weft::hiphost
