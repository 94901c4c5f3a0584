// The thread behind -T. See watchdog.h.
#include "watchdog.h"

#include <fmt/format.h>

#include <future>

#include "failure.h"

namespace weft::perf {
namespace {

// ncclCommAbort should be quick, but the library is already in trouble.
constexpr std::chrono::seconds kAbortPatience{5};

}  // namespace

Watchdog::Watchdog(std::chrono::milliseconds timeout, std::function<void()> abort_all)
    : timeout_(timeout), abort_all_(std::move(abort_all)) {
  if (timeout_.count() > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::begin(std::string step) {
  std::lock_guard lock(mutex_);
  step_ = std::move(step);
  began_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void Watchdog::rest() { begin(""); }

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (step_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto deadline = began_ + timeout_;
    if (std::chrono::steady_clock::now() >= deadline) {
      const std::string step = step_;
      lock.unlock();
      bark(step);
    }
    changed_.wait_until(lock, deadline);
  }
}

void Watchdog::bark(const std::string& step) {
  const std::string text = fmt::format("timeout: waited {:g} s for {}",
                                       static_cast<double>(timeout_.count()) / 1000, step);
  claim_exit();
  // Said before the abort, which may itself never return.
  fmt::print(stderr, "weft-perf: {}; aborting\n", text);
  std::promise<void> aborted;
  auto future = aborted.get_future();
  std::thread([this, &aborted] {
    abort_all_();
    aborted.set_value();
  }).detach();
  const bool done = future.wait_for(kAbortPatience) == std::future_status::ready;
  die(kExitTimeout, done ? "communicators aborted" : "the abort did not return either");
}

}  // namespace weft::perf
