// Starts a WorkerThread. Signals are blocked around the creation so that the thread is born deaf:
// the signals of an application belong to its own threads.
#include "bootstrap/worker_thread.h"

#include <csignal>
#include <cstring>

#include "error.h"

namespace weft {
namespace {
// The bodies keep at most a 64 KiB receive buffer on the stack; sanitizers multiply frames.
constexpr size_t kStackBytes = 512 * 1024;
}  // namespace

WorkerThread::WorkerThread(const char* name, std::function<void()> body)
    : name_(name), body_(std::move(body)) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int error = pthread_create(&thread_, &attributes, &WorkerThread::enter, this);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error)
    fail(ncclSystemError, "cannot start thread {}: {} (limit on processes or memory?)", name,
         strerror(error));
}

void WorkerThread::join() {
  if (joined_) return;
  joined_ = true;
  pthread_join(thread_, nullptr);
}

void* WorkerThread::enter(void* self) {
  auto* me = static_cast<WorkerThread*>(self);
  pthread_setname_np(pthread_self(), me->name_);
  me->body_();
  return nullptr;
}

}  // namespace weft
