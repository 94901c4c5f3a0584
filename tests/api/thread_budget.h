// For one scope, the calling thread can start so many threads and no more: the next one fails as it
// does when a process has too many.
#pragma once

namespace weft::test {

class ThreadBudget {
 public:
  explicit ThreadBudget(int threads);
  ~ThreadBudget();
  ThreadBudget(const ThreadBudget&) = delete;
  ThreadBudget& operator=(const ThreadBudget&) = delete;
};

}  // namespace weft::test
