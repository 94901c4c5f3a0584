// Which devices the process was shown, as the environment says it: for messages only (config.h).
#include <cstdlib>

#include "config.h"

namespace weft {

std::string device_visibility() {
  std::string text;
  for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    if (!text.empty()) text += ' ';
    text += name;
    text += '=';
    text += value;
  }
  return text;
}

}  // namespace weft
