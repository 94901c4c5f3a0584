// The text behind ncclGetLastError. Owns: the last error of each thread and of the process. Does
// not own: what the log keeps (log_last_warning), which is what a thread sees when no error was
// ever recorded, nor the errors of a communicator.
//
// A thread sees the error of its own latest failed call; a thread without one (a watchdog) sees the
// latest of the process. A public call that may fail begins with clear_thread_error(), so an old
// error of this thread never hides a newer one that a helper thread recorded. Thread rule: every
// function may be called from any thread, also while the process ends; texts are cut at
// kLastErrorBytes - 1.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

inline constexpr std::size_t kLastErrorBytes = 1024;

void set_last_error(std::string_view text) noexcept;
void clear_thread_error() noexcept;

std::string last_error();
// The same as a C string of this thread: valid until this thread asks again, also after the
// thread-local objects are gone.
const char* last_error_text() noexcept;

}  // namespace weft
