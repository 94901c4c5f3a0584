// Log lines in RCCL's shapes; see log.h. Owns: the state made from the NCCL_DEBUG settings, and
// writing. Does not own: the look of a line (log_format.cc), where settings come from (config.cc).
#include "log.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>

#include "config.h"
#include "log_format.h"

namespace weft {

namespace {

using Lock = std::lock_guard<std::mutex>;

// An open log file, or one of the process's own descriptors.
class Output {
 public:
  Output() = default;
  explicit Output(const std::string& path) {
    if (path.empty() || path == "/dev/stdout") return;
    if (path == "/dev/stderr") {
      fd_ = STDERR_FILENO;
      return;
    }
    // Appending keeps whole lines when several processes, or a child after fork, share the file.
    int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
      error_ = errno;
      return;
    }
    fd_ = fd;
    owned_ = true;
  }
  ~Output() {
    if (owned_) close(fd_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  int error() const { return error_; }

  // One write(2), continued only if the system took a part of it.
  void write_all(std::string_view text) const {
    while (!text.empty()) {
      ssize_t done = write(fd_, text.data(), text.size());
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return;
      text.remove_prefix(static_cast<size_t>(done));
    }
  }

 private:
  int fd_ = STDOUT_FILENO;
  bool owned_ = false;
  int error_ = 0;
};

// Leaked on purpose: threads may log while the process exits.
struct Log {
  // What log_enabled reads. kUnknown until the settings were read; both words are only hints for a
  // fast answer, so relaxed order suffices and they have no partner.
  static constexpr int kUnknown = -1;
  std::atomic<int> level{kUnknown};
  std::atomic<uint32_t> subsystems{0};

  std::mutex mutex;  // everything below
  LogStyle style;
  std::string path;  // NCCL_DEBUG_FILE as given
  std::unique_ptr<Output> output;
  pid_t output_pid = 0;
  std::string last_warning;
};

Log* make_log();

Log& the_log() {
  static Log& log = *make_log();
  return log;
}

// A fork waits until no line is being written, so that the child does not inherit a lock whose
// holder is not there.
Log* make_log() {
  auto* log = new Log;
  pthread_atfork([] { the_log().mutex.lock(); }, [] { the_log().mutex.unlock(); },
                 [] { the_log().mutex.unlock(); });
  return log;
}

// Reads the settings. The lock is held by the caller. The level never goes back to kUnknown, so
// that a line of another thread is not lost between two loads of it.
void load_settings(Log& log) {
  LogConfig config = read_log_config();
  log.style = make_style(config);
  log.path = config.file;
  log.output.reset();
  log.subsystems.store(log.style.subsystems, std::memory_order_relaxed);
  log.level.store(static_cast<int>(log.style.level), std::memory_order_relaxed);
}

void load_settings_once(Log& log) {
  if (log.level.load(std::memory_order_relaxed) == Log::kUnknown) load_settings(log);
}

// The file is opened by the first line of each process, so that a child after fork gets a file of
// its own (%p) and a process that logs nothing leaves none behind.
const Output& output_of(Log& log) {
  if (log.output && log.output_pid == getpid()) return *log.output;
  std::string path = expand_path(log.path);
  log.output = std::make_unique<Output>(path);
  log.output_pid = getpid();
  if (int error = log.output->error(); error != 0) {
    std::string text =
        fmt::format("NCCL_DEBUG_FILE: cannot open {}: {}; logging to standard output", path,
                    std::strerror(error));
    log.output->write_all(
        format_line(log.style, LogLevel::kWarn, Subsystem::kInit, {__FILE__, __LINE__}, text));
  }
  return *log.output;
}

}  // namespace

bool log_enabled(LogLevel level, Subsystem subsystem) noexcept {
  Log& log = the_log();
  if (log.level.load(std::memory_order_relaxed) == Log::kUnknown) {
    try {
      Lock lock(log.mutex);
      load_settings_once(log);
    } catch (...) {  // no memory: quiet
      return false;
    }
  }
  if (static_cast<int>(level) > log.level.load(std::memory_order_relaxed)) return false;
  if (level < LogLevel::kInfo) return true;
  return (log.subsystems.load(std::memory_order_relaxed) & static_cast<uint32_t>(subsystem)) != 0;
}

void log_line(LogLevel level, Subsystem subsystem, LogPlace place, std::string_view text) noexcept {
  try {
    Log& log = the_log();
    if (level == LogLevel::kWarn || level == LogLevel::kError) {
      Lock lock(log.mutex);
      log.last_warning = text;
    }
    if (!log_enabled(level, subsystem)) return;
    Lock lock(log.mutex);
    load_settings_once(log);
    std::string line = format_line(log.style, level, subsystem, place, text);
    output_of(log).write_all(line);
  } catch (...) {  // no memory: the line is lost, as log.h says
  }
}

void log_formatted(LogLevel level, Subsystem subsystem, LogPlace place, fmt::string_view format,
                   fmt::format_args args) noexcept {
  try {
    log_line(level, subsystem, place, fmt::vformat(format, args));
  } catch (...) {  // no memory: the line is lost, as log.h says
  }
}

void log_version_banner() noexcept {
  try {
    if (!log_enabled(LogLevel::kVersion, Subsystem::kInit)) return;
    log_line(LogLevel::kVersion, Subsystem::kInit, {__FILE__, __LINE__}, version_banner());
  } catch (...) {  // no memory: the line is lost, as log.h says
  }
}

void log_reset() noexcept {
  try {
    Log& log = the_log();
    Lock lock(log.mutex);
    load_settings(log);
  } catch (...) {  // no memory: the next line starts the log again
  }
}

std::string log_last_warning() {
  Log& log = the_log();
  Lock lock(log.mutex);
  return log.last_warning;
}

}  // namespace weft
