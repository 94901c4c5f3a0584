// Looks for a real HIP runtime among the loaded objects. Preloaded into a program that uses one,
// this library would answer some of its calls with simulated devices; so it answers none.
#include "other_runtime.h"

#include <link.h>

#include <cstring>

namespace weft::hiphost {
namespace {

constexpr char kOtherName[] = "libamdhip64.so";

int look(dl_phdr_info* info, size_t, void* found) {
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash == nullptr ? info->dlpi_name : slash + 1;
  if (strncmp(name, kOtherName, sizeof kOtherName - 1) != 0) return 0;
  *static_cast<std::string*>(found) = info->dlpi_name;
  return 1;
}

}  // namespace

std::string find_other_runtime() {
  std::string found;
  dl_iterate_phdr(&look, &found);
  return found;
}

}  // namespace weft::hiphost
