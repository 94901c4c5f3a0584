// The way out for every thread of weft-perf. See failure.h.
#include "failure.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace weft::perf {

namespace {

std::atomic<bool> claimed{false};
thread_local bool claimed_here = false;

}  // namespace

void claim_exit() noexcept {
  claimed_here = true;
  claimed.store(true);
}

void die(int exit_code, const std::string& text) noexcept {
  while (claimed.load() && !claimed_here) pause();
  std::fflush(stdout);
  std::fprintf(stderr, "weft-perf: %s\n", text.c_str());
  std::fflush(stderr);
  std::_Exit(exit_code);
}

}  // namespace weft::perf
