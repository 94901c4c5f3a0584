// What streams and graphs are made of. Work says what to do and where; an Op is one execution of it
// with its dependencies. Stream order, events, waits and graph edges are all "this Op after those";
// scheduler.cc runs what is ready.
#pragma once

#include <hip/hip_host.h>
#include <hip/hip_runtime_api.h>

#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "sync.h"

namespace weft::hiphost {

inline constexpr size_t kArgumentAlign = 64;

struct FreeArguments {
  void operator()(char* p) const {
    const sanitize::Ignore
        ignore;  // the last reference may go on a thread that did not synchronise
    ::operator delete (p, std::align_val_t{kArgumentAlign});
  }
};

// One launch of a kernel. The arguments are a copy taken at the call.
struct Launch {
  const hipHostKernel* kernel = nullptr;
  std::unique_ptr<char, FreeArguments> arguments;
  dim3 grid, block;
  size_t shared_bytes = 0;
  unsigned lanes = 1;  // fibers per block
  unsigned blocks = 1;
};

struct Work {
  enum class Kind {
    kNothing,  // a point in a stream
    kQuick,    // body never waits; runs on the thread that finds it ready
    kKernel,   // launch, on fibers of the workers
    kFiber,    // body, on one fiber of a worker; may poll with hipHostPollMiss
    kHost,     // body, on a helper thread; may block
  };
  Kind kind = Kind::kNothing;
  std::shared_ptr<const Launch> launch;
  std::function<void()> body;
  int device = 0;    // index of the visible device
  int priority = 0;  // as in hipStreamCreateWithPriority: lower runs first
};

struct Op;
using OpRef = std::shared_ptr<Op>;

struct Op {
  explicit Op(Work w) : work(std::move(w)) {}

  Work work;
  Word state{kPending};
  std::atomic<unsigned> blocks_left{1};
  bool limited = false;  // its blocks count against hipHostFaultResidentBlocks
  int64_t done_ns = 0;   // valid once done
  unsigned pending = 1;  // Ops to wait for, plus one until submitted; under the scheduler's lock
  std::vector<OpRef> successors;  // under the scheduler's lock
  std::vector<OpRef> after;       // TSAN builds: whose `done` edges a start takes
  char start_edge = 0;  // TSAN tokens: enqueue before start, end before whoever synchronises
  char done_edge = 0;

  static constexpr uint32_t kPending = 0, kAwaited = 1, kDone = 2;
  bool done() const { return state.load(std::memory_order_acquire) == kDone; }
  // Edges from everything this Op follows; called by whatever runs it, on its own stack.
  void begin() {
    sanitize::acquire(&start_edge);
    if constexpr (sanitize::kThread) {
      for (const OpRef& op : after) sanitize::acquire(&op->done_edge);
    }
  }
};

}  // namespace weft::hiphost
