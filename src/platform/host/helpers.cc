// A pool of helper threads that grows whenever all are busy; a thread without work for a while goes
// away.
#include "helpers.h"

#include <pthread.h>

#include <deque>
#include <mutex>
#include <thread>

#include "sync.h"

namespace weft::hiphost {
namespace {

constexpr int64_t kIdleNs = 2 * kNsPerSecond;

struct Pool {
  Lock lock;
  std::deque<std::function<void()>> jobs;
  unsigned idle = 0;
  Word news{0};
};

Pool& pool() {
  static Pool* p = new Pool;  // outlives every static object: helpers may still run at exit
  return *p;
}

// False when there was none for a while and the thread should end.
bool next_job(std::function<void()>& job) {
  Pool& p = pool();
  bool waited = false;
  while (true) {
    uint32_t seen = 0;
    {
      const std::lock_guard guard(p.lock);
      if (waited) --p.idle;
      if (!p.jobs.empty()) {
        job = std::move(p.jobs.front());
        p.jobs.pop_front();
        return true;
      }
      seen = p.news.load();
      ++p.idle;
    }
    waited = true;
    futex_wait(p.news, seen, kIdleNs);
    if (p.news.load() != seen) continue;
    const std::lock_guard guard(p.lock);
    if (!p.jobs.empty()) continue;
    --p.idle;
    return false;
  }
}

void help() {
  pthread_setname_np(pthread_self(), "hiphost-host");
  for (std::function<void()> job; next_job(job);) {
    job();
    const sanitize::Ignore ignore;
    job = nullptr;
  }
}

}  // namespace

void run_on_helper(std::function<void()> job) {
  Pool& p = pool();
  const std::lock_guard guard(p.lock);
  p.jobs.push_back(std::move(job));
  p.news.fetch_add(1);
  if (p.jobs.size() > p.idle) {
    std::thread(help).detach();
  } else {
    futex_wake(p.news, 1);
  }
}

}  // namespace weft::hiphost
