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

bool kernels_ended(const DeviceWords& words, uint32_t blocks_launched) {
  return flag_counter(words.eager_left) == blocks_launched &&
         flag_counter(words.graph_left) == words.graph_begun;
}

// Until all kernels have ended or `stop` says so; whether they ended. A device that does not answer
// is asked again.
template <class Stop>
bool wait_for_kernels(Communicator& comm, Stop stop) {
  if (!comm.device_state) return true;
  for (milliseconds pause{0};; pause = std::min(pause + milliseconds(1), milliseconds(5))) {
    const auto [words, lost] = comm.device_state->read_words(kReadLimit);
    if (lost || (words && kernels_ended(*words, comm.order.blocks_launched()))) return true;
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

// A graph that lives may be launched at any time: from now on its kernels touch nothing but the
// communicator's own words, which the reaper keeps for it. False: kernels still run.
bool end_kernels(Communicator& comm) {
  if (comm.device_state && comm.graphs->any_live() &&
      !comm.device_state->refuse_kernels(kReadLimit))
    return false;
  return leave_kernels(comm);
}

}  // namespace

void finalize(Communicator& comm) {
  if (comm.state() == CommState::kInitializing)
    fail(ncclInvalidUsage, "ncclCommFinalize: the communicator is still initialising");
  if (comm.state() != CommState::kReady) return;
  const std::lock_guard lock(comm.launch_mutex);
  const bool ended = wait_for_kernels(comm, [&] {
    const ncclResult_t error = comm.async_error();
    return (error != ncclSuccess && error != ncclInProgress) || comm.state() == CommState::kAborted;
  });
  if (comm.state() == CommState::kReady) comm.set_state(CommState::kFinalized);
  if (ended) return;
  if (comm.device_state) comm.device_state->abort();
  fail(ncclRemoteError, "operations of rank {} did not end: {}", comm.rank(), comm.error_text());
}

ncclResult_t destroy(ncclComm_t handle) {
  const auto comm = close_handle(handle, "ncclCommDestroy");
  join_init(*comm, "ncclCommDestroy was called while the communicator was initialising");
  std::string failure;
  try {
    finalize(*comm);
  } catch (const Error& error) {
    failure = error.what();
  }
  const std::scoped_lock lock(comm->launch_mutex, comm->host_mutex);
  const bool quiet = (failure.empty() && !comm->graphs->any_live()) || end_kernels(*comm);
  Reaper::instance().take(*comm, quiet);
  if (!failure.empty()) fail(ncclRemoteError, "ncclCommDestroy: {}", failure);
  return ncclSuccess;
}

ncclResult_t abort(ncclComm_t handle) {
  const std::string reason = "ncclCommAbort was called";
  // Words first: whoever waits inside the communicator leaves, and gives the mutex back.
  communicator_of(handle, "ncclCommAbort")->abort(reason);
  const auto comm = close_handle(handle, "ncclCommAbort");
  join_init(*comm, reason.c_str());
  comm->abort(reason);  // also of an init that ended well in between
  const std::scoped_lock lock(comm->launch_mutex, comm->host_mutex);
  const bool quiet = end_kernels(*comm);
  if (!quiet)
    log_warn("ncclCommAbort: kernels of rank {} still run; its buffers may still be written",
             comm->rank());
  Reaper::instance().take(*comm, quiet);
  return ncclSuccess;
}

void discard(Communicator& comm) noexcept { Reaper::instance().take(comm, true); }

}  // namespace weft
