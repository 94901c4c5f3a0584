// The threads of one process that drive its GPUs (-t): the main thread hands all of them the same
// job and waits. Owns: the threads. A job that throws ends the process (die): the other threads may
// be waiting on the GPU for its work. With one thread the job runs in the caller and a Failure is
// thrown as usual.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::perf {

class Crew {
 public:
  explicit Crew(int threads);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const { return threads_; }
  // Runs job(0) .. job(size - 1), each always on its own thread, and returns when all are done.
  void run(const std::function<void(int)>& job);
  // Inside a job: waits until every thread of the crew got here.
  void barrier();

 private:
  void work(int thread);

  const int threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* job_ = nullptr;
  unsigned long round_ = 0;  // counts jobs handed out
  int running_ = 0;
  int at_barrier_ = 0;
  unsigned long barrier_round_ = 0;
  bool closing_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace weft::perf
