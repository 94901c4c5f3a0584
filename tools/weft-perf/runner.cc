// Calls, graphs and the clock. See runner.h.
#include "runner.h"

#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "failure.h"
#include "gpu.h"

namespace weft::perf {
namespace {

// Calls that move through the buffer stay on this alignment, as separate allocations would.
constexpr size_t kStepAlignment = 512;
// A stream that is polled asks the library for asynchronous errors this often.
constexpr int kPollsPerErrorCheck = 1024;
// A wait yields between polls; a long one naps for this share of what it has lasted. That, and the
// slack of the timer (50 us), is the most that it adds to a measured time.
constexpr double kYieldingSeconds = 4e-3, kNapShare = 1.0 / 512;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void rest_after(double waited_seconds) {
  if (waited_seconds < kYieldingSeconds) {
    sched_yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(waited_seconds * kNapShare));
}

double mean(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

}  // namespace

Runner::Runner(Side& side, Crew& crew, const Options& options)
    : side_(side), crew_(crew), options_(options) {}

Runner::~Runner() {
  for (hipGraphExec_t graph : graphs_.by_local) (void)hipGraphExecDestroy(graph);
}

void Runner::prepare(const Trial& trial) {
  drop(graphs_);
  trial_ = trial;
  if (options_.graph_launches > 0) graphs_ = capture(options_.iterations, options_.aggregate);
}

Shape Runner::shape(const LocalRank& local) const {
  return {side_.world().ranks, local.rank, trial_.count, trial_.root};
}

Pointers Runner::pointers(const LocalRank& local, size_t offset) const {
  const size_t width = trial_.type->bytes;
  const size_t start = offset + static_cast<size_t>(options_.misalign) * width;
  char* input = static_cast<char*>(local.buffers[0]) + start;
  char* output = static_cast<char*>(local.buffers[1]) + start;
  if (!trial_.in_place) return {input, output};
  const Collective& collective = *trial_.collective;
  const Shape view = shape(local);
  return {output + collective.send_in_place(view) * width,
          output + collective.recv_in_place(view) * width};
}

size_t Runner::offset_of(int iteration) const {
  const uint64_t bytes =
      total_bytes(*trial_.collective, trial_.count, trial_.type->bytes, side_.world().ranks);
  const size_t step = (bytes + kStepAlignment - 1) / kStepAlignment * kStepAlignment;
  if (step == 0) return 0;
  const size_t places = std::max<size_t>(1, side_.capacity() / step);
  return static_cast<size_t>(iteration) % places * step;
}

void Runner::call_local(const LocalRank& local, size_t offset) {
  const Pointers at = pointers(local, offset);
  const CallArguments arguments{at.send,    at.recv,     trial_.count, trial_.type->type,
                                local.op,   trial_.root, local.rank,   side_.world().ranks,
                                local.comm, local.stream};
  side_.check(trial_.collective->call(side_.api(), arguments), [&] {
    return fmt::format("{} of {} {} on rank {}", trial_.collective->name, trial_.count,
                       trial_.type->name, local.rank);
  });
}

// One iteration of this thread's ranks: `aggregate` calls each, in one group when there is more
// than one call.
void Runner::call(int thread, int iteration, int aggregate) {
  const int gpus = side_.world().gpus;
  const size_t offset = offset_of(iteration);
  const LocalRank* first = &side_.locals()[static_cast<size_t>(thread * gpus)];
  if (gpus * aggregate == 1) return call_local(*first, offset);
  side_.check(side_.api().group_start(), [] { return "ncclGroupStart"; });
  for (int round = 0; round < aggregate; ++round) {
    for (int gpu = 0; gpu < gpus; ++gpu) call_local(first[gpu], offset);
  }
  side_.check(side_.api().group_end(), [&] {
    return fmt::format("ncclGroupEnd of {} {} of {} {}", gpus * aggregate, trial_.collective->name,
                       trial_.count, trial_.type->name);
  });
}

Runner::Graphs Runner::capture(int calls, int aggregate) {
  Graphs graphs;
  graphs.by_local.resize(side_.locals().size());
  crew_.run([&](int thread) {
    const int gpus = side_.world().gpus;
    const size_t first = static_cast<size_t>(thread * gpus);
    for (size_t i = first; i < first + static_cast<size_t>(gpus); ++i) {
      check_hip(hipStreamBeginCapture(side_.locals()[i].stream, hipStreamCaptureModeThreadLocal),
                "hipStreamBeginCapture");
    }
    for (int iteration = 0; iteration < calls; ++iteration) {
      call(thread, iteration, aggregate);
    }
    // A graph cannot be instantiated while this thread still captures on another stream.
    std::vector<hipGraph_t> captured(static_cast<size_t>(gpus));
    for (size_t gpu = 0; gpu < captured.size(); ++gpu) {
      check_hip(hipStreamEndCapture(side_.locals()[first + gpu].stream, &captured[gpu]),
                "hipStreamEndCapture");
    }
    for (size_t gpu = 0; gpu < captured.size(); ++gpu) {
      check_hip(hipSetDevice(side_.locals()[first + gpu].device), "hipSetDevice");
      check_hip(hipGraphInstantiateWithFlags(&graphs.by_local[first + gpu], captured[gpu], 0),
                "hipGraphInstantiate");
      check_hip(hipGraphDestroy(captured[gpu]), "hipGraphDestroy");
    }
  });
  return graphs;
}

void Runner::launch(const Graphs& graphs, int thread) {
  const int gpus = side_.world().gpus;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const auto i = static_cast<size_t>(thread * gpus + gpu);
    check_hip(hipGraphLaunch(graphs.by_local[i], side_.locals()[i].stream), "hipGraphLaunch");
  }
}

void Runner::drop(Graphs& graphs) {
  for (hipGraphExec_t graph : graphs.by_local) {
    check_hip(hipGraphExecDestroy(graph), "hipGraphExecDestroy");
  }
  graphs.by_local.clear();
}

bool Runner::stream_is_done(const LocalRank& local) {
  // The null stream is that of the current device.
  if (options_.null_stream) check_hip(hipSetDevice(local.device), "hipSetDevice");
  const hipError_t state = hipStreamQuery(local.stream);
  if (state == hipErrorNotReady) return false;
  check_hip(state,
            fmt::format("rank {}: the stream after {}", local.rank, trial_.collective->name));
  return true;
}

void Runner::check_async(const LocalRank& local) {
  if (side_.api().comm_get_async_error == nullptr) return;
  ncclResult_t result = ncclSuccess;
  side_.check(side_.api().comm_get_async_error(local.comm, &result),
              [] { return "ncclCommGetAsyncError"; });
  if (result == ncclInProgress) return;
  side_.check(result, [&] {
    return fmt::format("asynchronous error of rank {} during {}", local.rank,
                       trial_.collective->name);
  });
}

// Polls, so that an asynchronous error of the library is seen although the stream never ends.
// Between polls the library's own threads may run.
void Runner::wait(int thread) {
  const int gpus = side_.world().gpus;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const LocalRank& local = side_.locals()[static_cast<size_t>(thread * gpus + gpu)];
    const auto start = Clock::now();
    for (int polls = 1; !stream_is_done(local); ++polls) {
      if (polls % kPollsPerErrorCheck == 0) check_async(local);
      rest_after(seconds_since(start));
    }
  }
}

void Runner::warm_up() {
  if (options_.warmup == 0) return;
  crew_.run([&](int thread) {
    for (int i = 0; i < options_.warmup; ++i) {
      call(thread, i, options_.aggregate);
      if (options_.blocking != Blocking::kNone) wait(thread);
    }
    wait(thread);
    // The first replay of a graph uploads it.
    if (graphs_.by_local.empty()) return;
    launch(graphs_, thread);
    wait(thread);
  });
}

void Runner::lead_in(int thread) {
  if (side_.world().ranks == side_.world().gpus) return;
  if (graphs_.by_local.empty()) {
    call(thread, 0, options_.aggregate);
  } else {
    launch(graphs_, thread);
  }
  wait(thread);
}

BlockTime Runner::time_block() {
  const bool graph = !graphs_.by_local.empty();
  const int rounds = graph ? options_.graph_launches : options_.iterations;
  std::vector<double> seconds(static_cast<size_t>(crew_.size())), enqueue(seconds.size());
  crew_.run([&](int thread) {
    lead_in(thread);
    crew_.barrier();
    const auto start = Clock::now();
    for (int i = 0; i < rounds; ++i) {
      if (graph) {
        launch(graphs_, thread);
      } else {
        call(thread, i, options_.aggregate);
      }
      if (options_.blocking != Blocking::kNone) wait(thread);
      if (options_.blocking == Blocking::kWithBarrier) crew_.barrier();
    }
    enqueue[static_cast<size_t>(thread)] = seconds_since(start);
    wait(thread);
    seconds[static_cast<size_t>(thread)] = seconds_since(start);
  });
  const double calls =
      static_cast<double>(rounds) * options_.aggregate * (graph ? options_.iterations : 1);
  return {mean(seconds) / calls, mean(enqueue) / calls};
}

std::vector<double> Runner::time_singles() {
  std::vector<double> samples;
  crew_.run([&](int thread) {
    lead_in(thread);
    for (int i = 0; i < options_.iterations; ++i) {
      const auto start = Clock::now();
      call(thread, i, options_.aggregate);
      wait(thread);
      if (thread == 0) samples.push_back(seconds_since(start) / options_.aggregate);
    }
  });
  return samples;
}

void Runner::run_once() {
  const bool use_graph = options_.graph_launches > 0;
  Graphs once = use_graph ? capture(1, 1) : Graphs{};
  crew_.run([&](int thread) {
    if (use_graph) {
      launch(once, thread);
    } else {
      call(thread, 0, 1);
    }
    wait(thread);
  });
  drop(once);
}

}  // namespace weft::perf
