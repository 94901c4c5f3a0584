// The one error type. Thrown for what ends the call; what is expected (would block, unsupported) is
// returned. Owns: how a failure carries its ncclResult_t and its text. Does not own: logging
// (log.h) or the per-communicator last error. Caught in four places only: the C entry points, group
// jobs, the proxy thread, plugin callbacks.
#pragma once

#include <fmt/format.h>
#include <rccl/rccl.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace weft {

class Error : public std::exception {
 public:
  Error(ncclResult_t code, std::string text) : code_(code), text_(std::move(text)) {}
  // `text` says what was attempted, `cause` what went wrong below it; what() joins the two.
  Error(ncclResult_t code, const std::string& text, const std::exception& cause)
      : code_(code), text_(text + ": " + cause.what()) {}

  ncclResult_t code() const noexcept { return code_; }
  const std::string& text() const noexcept { return text_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ncclResult_t code_;
  std::string text_;
};

// Of the system call that just failed.
inline std::string errno_text() {
  return fmt::format("{} (errno {})", std::strerror(errno), errno);
}

// Throws Error(code, formatted text).
template <class... Args>
[[noreturn]] void fail(ncclResult_t code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace weft
