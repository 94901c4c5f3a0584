// -T: nothing may take longer than this. A thread that knows what the main thread is doing and
// since when. Owns: the deadline, the text of what is waited for, the end of the process (exit
// status 3) after aborting communicators. Works for waits inside the library too, which polling a
// stream could not see.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace weft::perf {

class Watchdog {
 public:
  // timeout 0: never barks. `abort_all` is called on the watchdog's thread before the process ends.
  Watchdog(std::chrono::milliseconds timeout, std::function<void()> abort_all);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // A new step begins now: "rank 0: timed block 3 of all_reduce, 1M".
  void begin(std::string step);
  // Nothing is waited for.
  void rest();

 private:
  void watch();
  [[noreturn]] void bark(const std::string& step);

  const std::chrono::milliseconds timeout_;
  const std::function<void()> abort_all_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string step_;  // "": resting
  std::chrono::steady_clock::time_point began_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace weft::perf
