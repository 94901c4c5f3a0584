// The watchdog of WEFT_HOST_STALL: a thread that compares the workers' progress counters. When
// there are fibers and no worker achieved anything for the given time, each worker prints its own
// fibers (worker.cc); one that does not answer runs a fiber that never pauses, and is named here.
#include "watchdog.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "scheduler.h"
#include "worker.h"

namespace weft::hiphost {
namespace {

constexpr int kSamplesPerStall = 4;
constexpr int64_t kAnswerNs = 200000000;
constexpr int64_t kLookNs = 1000000;

void pause_ns(int64_t ns) {
  const timespec t{ns / kNsPerSecond, ns % kNsPerSecond};
  nanosleep(&t, nullptr);
}

void report_all() {
  for (Worker* worker : workers()) {
    if (worker->fibers() == 0) continue;
    worker->request_report();
    const int64_t end = now_ns() + kAnswerNs;
    while (!worker->reported() && now_ns() < end) pause_ns(kLookNs);
    if (worker->reported()) continue;
    fprintf(stderr, "hiphost: worker %d runs a fiber that neither ends nor pauses\n",
            worker->index());
  }
}

void watch(double stall_seconds) {
  pthread_setname_np(pthread_self(), "hiphost-watch");
  const auto stall_ns = static_cast<int64_t>(stall_seconds * kNsPerSecond);
  uint64_t last = 0;
  int64_t since = now_ns();
  bool told = false;
  while (!scheduler_stopped()) {
    pause_ns(std::max(stall_ns / kSamplesPerStall, kLookNs));
    uint64_t progress = 0;
    unsigned fibers = 0;
    for (const Worker* worker : workers()) {
      progress += worker->progress_count();
      fibers += worker->fibers();
    }
    if (progress != last || fibers == 0) {
      last = progress;
      since = now_ns();
      told = false;
    } else if (!told && now_ns() - since >= stall_ns) {
      fprintf(stderr, "hiphost: no progress for %.3g s; %u fibers wait\n", stall_seconds, fibers);
      report_all();
      told = true;
    }
  }
}

}  // namespace

void start_watchdog(double stall_seconds) { std::thread(watch, stall_seconds).detach(); }

}  // namespace weft::hiphost
