// See last_error.h. The storage is plain arrays: nothing is destroyed at exit, when an atexit
// handler may still ask.
#include "last_error.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "log.h"

namespace weft {
namespace {

struct Text {
  char bytes[kLastErrorBytes];

  bool empty() const noexcept { return bytes[0] == '\0'; }
  void set(std::string_view text) noexcept {
    const std::size_t length = std::min(text.size(), kLastErrorBytes - 1);
    std::memcpy(bytes, text.data(), length);
    bytes[length] = '\0';
  }
};

thread_local Text thread_error;
thread_local Text thread_answer;  // what last_error_text() last returned to this thread

std::mutex process_mutex;
Text process_error;  // guarded by process_mutex

}  // namespace

void set_last_error(std::string_view text) noexcept {
  thread_error.set(text);
  const std::lock_guard lock(process_mutex);
  process_error.set(text);
}

void clear_thread_error() noexcept { thread_error.bytes[0] = '\0'; }

const char* last_error_text() noexcept {
  if (!thread_error.empty()) {
    thread_answer = thread_error;
    return thread_answer.bytes;
  }
  {
    const std::lock_guard lock(process_mutex);
    thread_answer = process_error;
  }
  if (thread_answer.empty()) thread_answer.set(log_last_warning());
  return thread_answer.bytes;
}

std::string last_error() { return last_error_text(); }

}  // namespace weft
