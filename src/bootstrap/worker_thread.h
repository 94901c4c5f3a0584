// A thread for bookkeeping: small stack, all signals blocked, joined by its owner.
// Owns: the pthread. Does not own: telling the body to stop. Used by root.cc and tree.cc.
#pragma once

#include <pthread.h>

#include <functional>

namespace weft {

class WorkerThread {
 public:
  // `name` shows in ps and gdb, at most 15 characters. Throws Error(ncclSystemError) when no thread
  // can be had.
  WorkerThread(const char* name, std::function<void()> body);
  ~WorkerThread() { join(); }
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;
  void join();

 private:
  static void* enter(void* self);
  const char* name_;
  std::function<void()> body_;
  pthread_t thread_{};
  bool joined_ = false;
};

}  // namespace weft
