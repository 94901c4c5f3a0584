// The way out for every thread of weft-perf. See failure.h.
#include "failure.h"

#include <cstdio>
#include <cstdlib>

namespace weft::perf {

void die(int exit_code, const std::string& text) noexcept {
  std::fflush(stdout);
  std::fprintf(stderr, "weft-perf: %s\n", text.c_str());
  std::fflush(stderr);
  std::_Exit(exit_code);
}

}  // namespace weft::perf
