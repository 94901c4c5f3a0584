// Worker threads with one job at a time. See crew.h.
#include "crew.h"

#include "failure.h"

namespace weft::perf {

Crew::Crew(int threads) : threads_(threads) {
  if (threads_ == 1) return;
  for (int thread = 0; thread < threads_; ++thread) {
    workers_.emplace_back([this, thread] { work(thread); });
  }
}

Crew::~Crew() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Crew::run(const std::function<void(int)>& job) {
  if (threads_ == 1) return job(0);
  std::unique_lock lock(mutex_);
  job_ = &job;
  running_ = threads_;
  ++round_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return running_ == 0; });
}

void Crew::work(int thread) {
  unsigned long seen = 0;
  while (true) {
    const std::function<void(int)>* job = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || round_ != seen; });
      if (closing_) return;
      seen = round_;
      job = job_;
    }
    try {
      (*job)(thread);
    } catch (const Failure& failure) {
      die(failure.exit_code(), failure.what());
    } catch (const std::exception& error) {
      die(kExitFailed, error.what());
    }
    std::lock_guard lock(mutex_);
    if (--running_ == 0) changed_.notify_all();
  }
}

void Crew::barrier() {
  if (threads_ == 1) return;
  std::unique_lock lock(mutex_);
  const unsigned long round = barrier_round_;
  if (++at_barrier_ == threads_) {
    at_barrier_ = 0;
    ++barrier_round_;
    changed_.notify_all();
    return;
  }
  changed_.wait(lock, [&] { return barrier_round_ != round; });
}

}  // namespace weft::perf
