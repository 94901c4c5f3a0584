// Jobs of hosts (host_jobs.h).
#include "host_jobs.h"

#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "group.h"
#include "log.h"

namespace weft {
namespace {

// The jobs of one communicator, and what came of them.
struct Sequence {
  std::shared_ptr<Communicator> comm;
  std::vector<HostJob> jobs;
  std::vector<InitJob> inits;
  std::exception_ptr failure;

  void run() {
    const std::lock_guard lock(comm->host_mutex);
    for (HostJob& job : jobs) {
      try {
        comm->require_ready("ncclGroupEnd");  // it may have ended since the call
        for (InitJob& init : job.run(*comm)) inits.push_back(std::move(init));
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    }
  }
};

std::vector<Sequence> sequences_of(std::vector<HostJob> jobs) {
  std::vector<Sequence> sequences;
  for (HostJob& job : jobs) {
    size_t at = 0;
    while (at < sequences.size() && sequences[at].comm != job.comm) ++at;
    if (at == sequences.size()) sequences.push_back({job.comm, {}, {}, nullptr});
    sequences[at].jobs.push_back(std::move(job));
  }
  return sequences;
}

void run_in_background(Sequence& sequence) {
  Communicator& comm = *sequence.comm;
  try {
    sequence.run();
    const bool any = !sequence.inits.empty();
    if (any) run_inits(std::exchange(sequence.inits, {}));
    if (sequence.failure) std::rethrow_exception(sequence.failure);
  } catch (const Error& error) {
    log_warn("{}", error.what());
    comm.set_async_error(error.code(), error.what());
  } catch (const std::exception& error) {
    log_warn("{}", error.what());
    comm.set_async_error(ncclInternalError, error.what());
  }
}

// Ranks no longer agree on what comes next: the asynchronous error of all of them.
void lose(Communicator& comm, const Error& error) {
  comm.bootstrap->fail(error.code(), error.text());
  comm.set_async_error(error.code(), error.text());
}

void start_jobs(Sequence sequence) {
  const std::shared_ptr<Communicator> comm = sequence.comm;
  if (comm->init_thread.joinable()) comm->init_thread.join();  // an earlier one
  comm->host_jobs.fetch_add(1);
  try {
    comm->init_thread = std::thread([sequence = std::move(sequence)]() mutable {
      run_in_background(sequence);
      sequence.comm->host_jobs.fetch_sub(1);  // with async_error: what was stored is seen
    });
  } catch (const std::system_error& error) {
    lose(*comm, Error(ncclSystemError, "no thread for work in the background", error));
    comm->host_jobs.fetch_sub(1);
  }
}

// One thread each, since each waits for the others.
void run_side_by_side(std::vector<Sequence>& all) {
  std::vector<std::jthread> threads;
  try {
    for (size_t i = 1; i < all.size(); ++i) threads.emplace_back([&, i] { all[i].run(); });
  } catch (const std::system_error& error) {
    const Error no_thread(ncclSystemError, "no thread for each communicator of a group", error);
    for (Sequence& sequence : all) lose(*sequence.comm, no_thread);  // those that wait leave
    throw no_thread;
  }
  if (!all.empty()) all[0].run();
}

}  // namespace

ncclResult_t run_jobs(std::vector<HostJob> jobs, std::vector<InitJob> inits) {
  std::vector<Sequence> here;
  bool in_background = false;
  for (Sequence& sequence : sequences_of(std::move(jobs))) {
    if (sequence.comm->blocking()) {
      here.push_back(std::move(sequence));
    } else {
      start_jobs(std::move(sequence));
      in_background = true;
    }
  }
  run_side_by_side(here);
  std::exception_ptr failure;
  for (Sequence& sequence : here) {
    for (InitJob& init : sequence.inits) inits.push_back(std::move(init));
    if (!failure) failure = sequence.failure;
  }
  ncclResult_t result = ncclSuccess;
  try {
    if (!inits.empty()) result = run_inits(std::move(inits));
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  if (failure) std::rethrow_exception(failure);
  return in_background ? ncclInProgress : result;
}

void gather_all(const char* function, Communicator& comm, void* all, size_t bytes_each) {
  try {
    comm.bootstrap->all_gather(all, bytes_each);
  } catch (const Error& error) {
    const Error told(error.code(), function, error);
    lose(comm, told);
    throw told;
  }
}

}  // namespace weft
