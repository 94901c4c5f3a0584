// Start and end of the runtime. Next on the path of a first call: device.cc, then memory.cc and
// stream.cc.
#include "runtime.h"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "arena.h"
#include "bell.h"
#include "faults.h"
#include "other_runtime.h"
#include "scheduler.h"
#include "watchdog.h"
#include "window.h"

namespace weft::hiphost {
namespace {

enum State : int { kNew, kReady, kRefused, kForked, kFailed };
std::atomic<int> state{kNew};
Lock start_lock;
Runtime* the_runtime = nullptr;
thread_local hipError_t last_error = hipSuccess;
thread_local int device_of_thread = 0;

void refuse_when_other_runtime() {
  const std::string other = find_other_runtime();
  if (other.empty()) return;
  int expected = kNew;
  if (!state.compare_exchange_strong(expected, kRefused)) return;
  fprintf(stderr,
          "hiphost: this program has a real HIP runtime loaded (%s); the simulated one refuses to "
          "run beside it. Use the build of the library for that GPU platform, or run the program "
          "without it.\n",
          other.c_str());
}

// A fork waits for a start under way, so that a child inherits neither its lock nor half of it.
void before_fork() { start_lock.lock(); }
void after_fork_in_parent() { start_lock.unlock(); }
void after_fork_in_child() {
  if (state.load() == kReady) state.store(kForked);
  start_lock.unlock();
}

void at_exit() {
  if (state.load() == kReady) stop_scheduler();
}

void start() {
  auto r = std::make_unique<Runtime>();
  r->config = read_config();
  for (size_t i = 0; i < r->config.visible.size(); ++i) {
    auto device = std::make_unique<Device>();
    device->index = static_cast<int>(i);
    device->physical = r->config.visible[i];
    r->devices.push_back(std::move(device));
  }
  create_own_bells(r->config.workers);
  Window::get().reserve(r->config.memory_bytes);
  read_faults(r->config.faults);
  start_scheduler(r->config);
  the_runtime = r.release();
  atexit(&at_exit);
  if (the_runtime->config.stall_seconds > 0) start_watchdog(the_runtime->config.stall_seconds);
}

[[gnu::noinline]] hipError_t ready_slow() {
  const std::lock_guard guard(start_lock);
  refuse_when_other_runtime();
  if (state.load() == kNew) {
    try {
      start();
      state.store(kReady);
    } catch (...) {
      fprintf(stderr, "hiphost: no address space or descriptors for the simulated devices\n");
      state.store(kFailed);
    }
  }
  switch (state.load()) {
    case kReady:
      if (the_runtime->devices.empty()) return hipErrorNoDevice;
      return scheduler_stopped() ? hipErrorDeinitialized : hipSuccess;
    case kRefused:
      return hipErrorNotSupported;
    case kForked:
      return hipErrorNotInitialized;
    default:
      return hipErrorOutOfMemory;
  }
}

// A runtime that was loaded with this one is found before the first call.
__attribute__((constructor)) void look_at_load() {
  pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  refuse_when_other_runtime();
}

}  // namespace

Runtime& runtime() { return *the_runtime; }

hipError_t ready() {
  if (state.load(std::memory_order_acquire) == kReady && !the_runtime->devices.empty() &&
      !scheduler_stopped()) {
    return hipSuccess;
  }
  return ready_slow();
}

Arena& arena_of(Device& device) {
  const std::lock_guard guard(the_runtime->lock);
  if (device.arena == nullptr) {
    device.arena =
        Arena::create(the_runtime->config.memory_bytes, static_cast<uint32_t>(device.physical));
    device.arena->set_bells(own_bells());
    device.arena->header().bell_fd = static_cast<uint32_t>(own_bells_fd());
    device.arena->header().bell_inode = own_bells_inode();
  }
  return *device.arena;
}

Arena& host_arena() {
  constexpr uint32_t kNoDevice = ~0u;
  const std::lock_guard guard(the_runtime->lock);
  if (the_runtime->host_arena == nullptr) {
    the_runtime->host_arena = Arena::create(the_runtime->config.memory_bytes, kNoDevice);
    the_runtime->host_arena->set_bells(own_bells());
  }
  return *the_runtime->host_arena;
}

int device_count() { return static_cast<int>(the_runtime->devices.size()); }
int current_device() { return device_of_thread; }
void set_current_device(int device) { device_of_thread = device; }

hipError_t check_device(int device) {
  return device >= 0 && device < device_count() ? hipSuccess : hipErrorInvalidDevice;
}

hipError_t keep_error(hipError_t error) {
  if (error != hipSuccess && error != hipErrorNotReady) last_error = error;
  return error;
}

}  // namespace weft::hiphost

using weft::hiphost::last_error;

extern "C" hipError_t hipGetLastError(void) {
  const hipError_t error = last_error;
  last_error = hipSuccess;
  return error;
}
extern "C" hipError_t hipExtGetLastError(void) { return hipGetLastError(); }
extern "C" hipError_t hipPeekAtLastError(void) { return last_error; }
