// Groups (group.h).
#include "group.h"

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

void Group::add(ncclComm_t handle, const Request& request) {
  if (calls_.empty() || calls_.back().handle != handle) {
    for (Calls& calls : calls_)
      if (calls.handle == handle) return calls.requests.push_back(request);
    calls_.push_back({handle, {}});
  }
  calls_.back().requests.push_back(request);
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

std::vector<Group::Calls> Group::discard() {
  if (depth_ == 0) fail(ncclInvalidUsage, "ncclGroupSimulateEnd without ncclGroupStart");
  if (--depth_ > 0) return {};
  const ncclResult_t failure = std::exchange(failure_, ncclSuccess);
  host_jobs_.clear();
  jobs_.clear();
  std::vector<Calls> calls = std::exchange(calls_, {});
  if (failure != ncclSuccess) fail(failure, "a call of this group failed: {}", failure_text_);
  return calls;
}

void Group::note_failure(ncclResult_t code, const std::string& text) {
  if (!open() || failure_ != ncclSuccess) return;
  failure_ = code;
  failure_text_ = text;
}

ncclResult_t Group::run() {
  const ncclResult_t failure = std::exchange(failure_, ncclSuccess);
  std::vector<HostJob> host_jobs = std::exchange(host_jobs_, {});
  std::vector<InitJob> jobs = std::exchange(jobs_, {});
  const std::vector<Calls> all_calls = std::exchange(calls_, {});
  if (failure != ncclSuccess) fail(failure, "a call of this group failed: {}", failure_text_);
  const ncclResult_t result = run_jobs(std::move(host_jobs), std::move(jobs));
  // All handles are looked at before the first launch: a group starts whole or not at all.
  std::vector<std::shared_ptr<Communicator>> comms;
  for (const Calls& calls : all_calls)
    comms.push_back(communicator_of(calls.handle, "ncclGroupEnd"));
  for (size_t i = 0; i < comms.size(); ++i) launch(*comms[i], all_calls[i].requests);
  return result;
}

}  // namespace weft
