// Closing a communicator (close.h).
#include "close.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "device/flag.h"
#include "error.h"
#include "log.h"
#include "reaper.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Of the design: an abort waits so long for its own kernels.
constexpr milliseconds kAbortLimit{100};
// A copy of some hundred bytes; longer means that the device does not answer.
constexpr milliseconds kReadLimit{1000};

bool kernels_ended(const DeviceWords& words, uint32_t launched) {
  return words.started == words.done && reached(flag_counter(words.done_eager), launched);
}

// Until all kernels have ended or `stop` says so; whether they ended.
template <class Stop>
bool wait_for_kernels(Communicator& comm, Stop stop) {
  if (!comm.device_state) return true;
  for (milliseconds pause{0};; pause = std::min(pause + milliseconds(1), milliseconds(5))) {
    const DeviceWords* words = comm.device_state->read_words(kReadLimit);
    if (words == nullptr) return false;
    if (kernels_ended(*words, comm.order.launched())) return true;
    if (stop()) return false;
    std::this_thread::sleep_for(pause);
  }
}

void join_init(Communicator& comm, const char* reason) {
  if (!comm.init_thread.joinable()) return;
  if (comm.state() == CommState::kInitializing) comm.abort(reason);
  comm.init_thread.join();
}

bool leave_kernels(Communicator& comm) {
  const auto deadline = Clock::now() + kAbortLimit;
  return wait_for_kernels(comm, [&] { return Clock::now() > deadline; });
}

}  // namespace

void finalize(Communicator& comm) {
  if (comm.state() != CommState::kReady) return;
  const std::lock_guard lock(comm.launch_mutex);
  const bool ended = wait_for_kernels(comm, [&] { return comm.async_error() != ncclSuccess; });
  comm.set_state(CommState::kFinalized);
  if (ended) return;
  if (comm.device_state) comm.device_state->abort();
  fail(ncclRemoteError, "operations of rank {} did not end: {}", comm.rank(), comm.error_text());
}

ncclResult_t destroy(ncclComm_t handle) {
  Communicator& comm = communicator_of(handle, "ncclCommDestroy");
  join_init(comm, "ncclCommDestroy was called while the communicator was initialising");
  std::string failure;
  try {
    finalize(comm);
  } catch (const Error& error) {
    failure = error.what();
  }
  const bool quiet = failure.empty() || leave_kernels(comm);
  Reaper::instance().take(comm, quiet);
  close_handle(handle);
  if (!failure.empty()) fail(ncclRemoteError, "ncclCommDestroy: {}", failure);
  return ncclSuccess;
}

ncclResult_t abort(ncclComm_t handle) {
  Communicator& comm = communicator_of(handle, "ncclCommAbort");
  comm.abort(fmt::format("rank {} called ncclCommAbort", comm.rank()));
  join_init(comm, "ncclCommAbort");
  const bool quiet = leave_kernels(comm);
  if (!quiet)
    log_warn("ncclCommAbort: kernels of rank {} still run; its buffers may still be written",
             comm.rank());
  Reaper::instance().take(comm, quiet);
  close_handle(handle);
  return ncclSuccess;
}

void discard(Communicator& comm) noexcept { Reaper::instance().take(comm, true); }

}  // namespace weft
