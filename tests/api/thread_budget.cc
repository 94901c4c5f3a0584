// Stands before pthread_create of the C library (thread_budget.h).
#include "thread_budget.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>

namespace {
constexpr int kAny = -1;
thread_local int threads_left = kAny;
}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
    void* argument) noexcept {
  static const auto next =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left == 0) return EAGAIN;
  if (threads_left != kAny) --threads_left;
  return next(thread, attributes, body, argument);
}

namespace weft::test {

ThreadBudget::ThreadBudget(int threads) { threads_left = threads; }
ThreadBudget::~ThreadBudget() { threads_left = kAny; }

}  // namespace weft::test
