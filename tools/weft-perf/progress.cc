// Progress on stderr. See progress.h.
#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace weft::perf {
namespace {

constexpr std::chrono::seconds kPlainEvery{10};
constexpr std::chrono::milliseconds kTerminalEvery{200};

}  // namespace

Progress::Progress(bool shown)
    : shown_(shown),
      on_terminal_(isatty(STDERR_FILENO) != 0),
      last_(std::chrono::steady_clock::now()) {}

void Progress::note(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  const auto every = on_terminal_ ? std::chrono::milliseconds(kTerminalEvery)
                                  : std::chrono::milliseconds(kPlainEvery);
  if (!shown_ || now - last_ < every) return;
  last_ = now;
  if (on_terminal_) {
    fmt::print(stderr, "\r\033[K{}", text);
    on_line_ = true;
  } else {
    fmt::print(stderr, "weft-perf: {}\n", text);
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (!on_line_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  on_line_ = false;
}

}  // namespace weft::perf
