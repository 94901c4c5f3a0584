// The calls of hip_host.h that code inside a kernel makes: where am I, pause, ring, barrier.
// Outside a kernel a miss just gives the processor away, so that the same code can be tested on a
// host thread.
#include <hip/hip_host.h>
#include <sched.h>

#include <chrono>

#include "bell.h"
#include "worker.h"

using weft::hiphost::this_worker;
using weft::hiphost::Worker;

namespace {

// Other fibers run meanwhile.
void take_time(Worker& worker, int64_t us) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  while (std::chrono::steady_clock::now() < end) worker.yield();
}

}  // namespace

extern "C" const hipHostLane* hipHostThisLane(void) {
  Worker* worker = this_worker();
  return worker != nullptr && worker->on_fiber() ? &worker->current().lane : nullptr;
}

extern "C" void hipHostPollMiss(const volatile void* address) {
  Worker* worker = this_worker();
  if (worker == nullptr || !worker->on_fiber()) {
    sched_yield();
    return;
  }
  worker->poll_miss(address);
}

extern "C" void hipHostPollHit(void) {
  Worker* worker = this_worker();
  if (worker == nullptr || !worker->on_fiber()) return;
  worker->poll_hit();
  if (const int64_t us = hipHostGetFault(hipHostFaultSlowPolls); us > 0) take_time(*worker, us);
}

extern "C" void hipHostNotify(const volatile void* address) {
  Worker* worker = this_worker();
  weft::hiphost::ring_address(address, worker == nullptr ? nullptr : &worker->seat(),
                              worker == nullptr);
}

extern "C" void hipHostBarrier(void) {
  Worker* worker = this_worker();
  if (worker != nullptr && worker->on_fiber()) worker->barrier();
}
