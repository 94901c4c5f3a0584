// Groups (group.h).
#include "group.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <system_error>

#include "close.h"
#include "error.h"
#include "init.h"
#include "launch.h"
#include "log.h"

namespace weft {
namespace {

void start_in_background(InitJob job) {
  Communicator* comm = job.comm.get();
  *job.out = open_handle(std::move(job.comm));
  const auto run = [comm, id = job.id] {
    try {
      initialize(*comm, id);
    } catch (const std::exception& error) {
      log_warn("{}", error.what());  // kept as the asynchronous error of the communicator
    }
  };
  try {
    comm->init_thread = std::thread(run);
  } catch (const std::system_error& error) {
    // Not on this thread: the ranks that it would wait for may be this thread's next calls.
    const std::string text =
        fmt::format("no thread for the init of rank {}: {}", comm->rank(), error.what());
    log_warn("{}", text);
    comm->set_async_error(ncclSystemError, text);
    comm->set_state(CommState::kFailed);
  }
}

// Of a blocking init: the error, or nothing.
std::exception_ptr try_initialize(InitJob& job) {
  try {
    initialize(*job.comm, job.id);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// The errors of all, or null pointers. One thread each, since each waits for the others.
std::vector<std::exception_ptr> initialize_all(std::vector<InitJob>& jobs) {
  std::vector<std::exception_ptr> errors(jobs.size());
  std::vector<std::jthread> threads;
  try {
    for (size_t i = 1; i < jobs.size(); ++i)
      threads.emplace_back([&, i] { errors[i] = try_initialize(jobs[i]); });
    if (!jobs.empty()) errors[0] = try_initialize(jobs[0]);
    threads.clear();
  } catch (const std::system_error& error) {
    const Error no_thread(ncclSystemError, fmt::format("no thread for each of {} inits: {}",
                                                       jobs.size(), error.what()));
    for (InitJob& job : jobs) job.comm->abort(no_thread.text());
    threads.clear();
    errors.assign(jobs.size(), std::make_exception_ptr(no_thread));
  }
  return errors;
}

// However a group ends, nothing of it is left for the next one.
struct Emptied {
  GroupCalls& calls;
  ~Emptied() { calls.clear(); }
};

void hand_over(InitJob& job) { *job.out = open_handle(std::move(job.comm)); }

}  // namespace

ncclResult_t run_inits(std::vector<InitJob> jobs) {
  std::vector<InitJob> blocking;
  for (InitJob& job : jobs) {
    if (job.comm->blocking()) {
      blocking.push_back(std::move(job));
    } else {
      start_in_background(std::move(job));
    }
  }
  const std::vector<std::exception_ptr> errors = initialize_all(blocking);
  for (size_t i = 0; i < blocking.size(); ++i) {
    if (errors[i]) {
      discard(*blocking[i].comm);
    } else {
      hand_over(blocking[i]);
    }
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return blocking.size() < jobs.size() ? ncclInProgress : ncclSuccess;
}

Group& Group::current() {
  thread_local Group group;
  return group;
}

ncclResult_t Group::end() {
  if (depth_ == 0) fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--depth_ > 0) return ncclSuccess;
  return run();
}

void GroupCalls::add(ncclComm_t handle, const Request& request) {
  const auto used = std::span(calls_).first(used_);
  auto calls = std::ranges::find(used, handle, &Calls::handle);
  if (calls == used.end()) {
    if (used_ == calls_.size()) calls_.emplace_back();
    calls_[used_].handle = handle;
    return calls_[used_++].requests.push_back(request);
  }
  calls->requests.push_back(request);
}

void GroupCalls::clear() {
  for (Calls& calls : std::span(calls_).first(used_)) {
    calls.comm.reset();
    calls.requests.clear();
  }
  used_ = 0;
}

void Group::add(ncclComm_t handle, const Request& request) {
  calls_.add(handle, request);
  if (!open()) run();
}

ncclResult_t Group::add(InitJob job) {
  jobs_.push_back(std::move(job));
  return open() ? ncclSuccess : run();
}

ncclResult_t Group::add(HostJob job) {
  host_jobs_.push_back(std::move(job));
  return open() ? ncclSuccess : run();
}

void Group::discard(const std::function<void(Communicator&, std::span<const Request>)>& look) {
  if (depth_ == 0) fail(ncclInvalidUsage, "ncclGroupSimulateEnd without ncclGroupStart");
  if (--depth_ > 0) return;
  const Emptied emptied{calls_};
  host_jobs_.clear();
  jobs_.clear();
  fail_if_failed();
  calls_.visit(look);
}

void Group::note_failure(ncclResult_t code, const std::string& text) {
  if (!open() || failure_ != ncclSuccess) return;
  failure_ = code;
  failure_text_ = text;
}

void Group::fail_if_failed() {
  const ncclResult_t failure = std::exchange(failure_, ncclSuccess);
  if (failure != ncclSuccess) fail(failure, "a call of this group failed: {}", failure_text_);
}

ncclResult_t Group::run() {
  const Emptied emptied{calls_};
  std::vector<HostJob> host_jobs = std::exchange(host_jobs_, {});
  std::vector<InitJob> jobs = std::exchange(jobs_, {});
  fail_if_failed();
  const ncclResult_t result = run_jobs(std::move(host_jobs), std::move(jobs));
  calls_.visit(
      [](Communicator& comm, std::span<const Request> requests) { launch(comm, requests); });
  return result;
}

}  // namespace weft
