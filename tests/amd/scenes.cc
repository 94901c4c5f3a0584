#include "scenes.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>

#include "../support/schedule_xml.h"
#include "prepared.h"

namespace amd_test {
namespace {

constexpr size_t kSmall = 100, kLarge = 20'000;
constexpr int kTimes = 3;
using Calls = std::vector<std::unique_ptr<Prepared>>;

const Operation& named(const char* name) {
  return *std::find_if(kOperations, kOperations + kOperationCount,
                       [&](const Operation& o) { return std::strcmp(o.name, name) == 0; });
}

void add(Calls& calls, const Job& job, const char* operation, Call call, size_t count) {
  call.count = count;
  calls.push_back(std::make_unique<Prepared>(job, named(operation), call));
}

// Collectives of several types and sizes, and messages.
Calls mixture(const Job& job, const Call& call) {
  Call halves = call;
  halves.element = &kElements[2];
  Calls calls;
  add(calls, job, "all_reduce", call, kSmall);
  add(calls, job, "send_receive", call, kLarge);
  add(calls, job, "all_gather", halves, kLarge);
  add(calls, job, "all_reduce", halves, kLarge);
  add(calls, job, "send_receive", halves, 1);
  return calls;
}

void issue_group(const Job& job, const Calls& calls) {
  require(job, ncclGroupStart(), "ncclGroupStart");
  for (const auto& one : calls) one->issue();
  require(job, ncclGroupEnd(), "ncclGroupEnd");
}

void check(const Calls& calls) {
  for (const auto& one : calls) one->check();
  for (const auto& one : calls) one->reset();
}

void run_groups(const Job& job, const Call& call) {
  const Calls mixed = mixture(job, call);
  Calls broadcasts;  // of several roots: they run side by side
  for (size_t count = kSmall; count < kSmall + size_t(call.ranks); ++count)
    add(broadcasts, job, "broadcast", call, count);
  for (int time = 0; time < kTimes; ++time) {
    issue_group(job, mixed);
    check(mixed);
    issue_group(job, broadcasts);
    check(broadcasts);
  }
}

hipGraphExec_t capture(const Job& job, hipStream_t stream, const std::function<void()>& issue) {
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  require(job, hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), "begin capture");
  issue();
  require(job, hipStreamEndCapture(stream, &graph), "end capture");
  require(job, hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), "instantiate");
  require(job, hipGraphDestroy(graph), "hipGraphDestroy");
  return exec;
}

// Replayed with calls between, also of what was captured.
void run_graphs(const Job& job, const Call& call) {
  const Calls single = mixture(job, call), grouped = mixture(job, call);
  const hipGraphExec_t first = capture(job, call.stream, [&] {
    for (const auto& one : single) one->issue();
  });
  const hipGraphExec_t second = capture(job, call.stream, [&] { issue_group(job, grouped); });
  for (int time = 0; time < kTimes; ++time) {
    require(job, hipGraphLaunch(first, call.stream), "hipGraphLaunch");
    require(job, hipGraphLaunch(second, call.stream), "hipGraphLaunch");
    check(single);
    check(grouped);
    single.front()->issue();
    require(job, hipGraphLaunch(second, call.stream), "hipGraphLaunch");
    single.front()->check();
    check(grouped);
    single.front()->reset();
  }
  require(job, hipGraphExecDestroy(first), "hipGraphExecDestroy");
  require(job, hipGraphExecDestroy(second), "hipGraphExecDestroy");
}

// Registered buffers, one call behind another: where ranks reach each other's buffers they come to
// use them (WEFT_ZERO_COPY).
void run_repeats(const Job& job, const Call& call) {
  Calls calls;
  for (size_t i = 0; i < kOperationCount; ++i) add(calls, job, kOperations[i].name, call, kLarge);
  std::vector<void*> handles;
  for (const auto& one : calls) {
    handles.resize(handles.size() + 2);
    const Call& c = one->call();
    require(job,
            ncclCommRegister(c.comm, const_cast<void*>(c.input), one->input_bytes(),
                             &handles[handles.size() - 2]),
            "ncclCommRegister");
    require(job, ncclCommRegister(c.comm, c.output, one->output_bytes(), &handles.back()),
            "ncclCommRegister");
  }
  for (int time = 0; time < kTimes; ++time) {
    for (const auto& one : calls) one->issue();
    check(calls);
  }
  for (void* handle : handles)
    require(job, ncclCommDeregister(call.comm, handle), "ncclCommDeregister");
}

// On a communicator in which this rank must be `rank` of `ranks`.
void run_on(const Job& job, Call call, ncclComm_t comm, int rank, int ranks) {
  require(job, ncclCommCount(comm, &call.ranks), "ncclCommCount");
  require(job, ncclCommUserRank(comm, &call.rank), "ncclCommUserRank");
  if (call.rank != rank || call.ranks != ranks)
    give_up(job.rank, "is rank " + std::to_string(call.rank) + " of " + std::to_string(call.ranks) +
                          ", wanted " + std::to_string(rank) + " of " + std::to_string(ranks));
  call.comm = comm;
  const Calls calls = mixture(job, call);
  for (const auto& one : calls) one->issue();
  check(calls);
}

// Even and odd ranks in reverse order, then all but rank 0, beside the old communicator.
void run_split(const Job& job, const Call& call) {
  const int rank = call.rank, ranks = call.ranks;
  const int above = (ranks - 1 - rank) / 2, below = rank / 2;  // in the same half
  ncclComm_t half = nullptr, rest = nullptr;
  require(job, ncclCommSplit(call.comm, rank % 2, -rank, &half, nullptr), "split");
  run_on(job, call, half, above, above + 1 + below);
  const int color = rank == 0 ? NCCL_SPLIT_NOCOLOR : 0;
  require(job, ncclCommSplit(call.comm, color, rank, &rest, nullptr), "split");
  if ((rest == nullptr) != (rank == 0)) give_up(rank, "is in the wrong communicators");
  if (rest != nullptr) run_on(job, call, rest, rank - 1, ranks - 1);
  run_on(job, call, call.comm, rank, ranks);
  run_on(job, call, half, above, above + 1 + below);
  require(job, ncclCommDestroy(half), "ncclCommDestroy");
  if (rest != nullptr) require(job, ncclCommDestroy(rest), "ncclCommDestroy");
}

mscclAlgoHandle_t load_schedule(const Job& job, const std::string& xml) {
  char path[] = "/tmp/amd_collectives_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || write(file, xml.data(), xml.size()) != ssize_t(xml.size()))
    give_up(job.rank, "cannot write a schedule");
  close(file);
  mscclAlgoHandle_t handle = 0;
  const ncclResult_t code = mscclLoadAlgo(path, &handle, job.rank);
  unlink(path);
  require(job, code, "mscclLoadAlgo");
  return handle;
}

thread_local mscclAlgoHandle_t schedule;  // what run_schedule runs
ncclResult_t run_schedule(const Call& c) {
  return mscclRunAlgo(c.input, nullptr, nullptr, c.output, nullptr, nullptr, c.count,
                      c.element->type, 0, 0, c.op, schedule, c.comm, c.stream);
}

void run_schedules(const Job& job, const Call& call) {
  const struct {
    const char* collective;
    std::string xml;
  } schedules[] = {{"all_reduce", weft::test::ring_all_reduce(call.ranks)},
                   {"all_reduce", weft::test::all_pairs_all_reduce(call.ranks)},
                   {"reduce_scatter", weft::test::reduce_scatter(call.ranks)},
                   {"all_gather", weft::test::all_gather(call.ranks)},
                   {"all_to_all", weft::test::all_to_all(call.ranks)}};
  for (const auto& [collective, xml] : schedules) {
    Operation operation = named(collective);
    operation.run = run_schedule;
    schedule = load_schedule(job, xml);
    for (const size_t count : {kSmall, kLarge}) {
      Call own = call;
      own.count = count;
      const Prepared prepared(job, operation, own);
      prepared.issue();
      prepared.check();
    }
    require(job, mscclUnloadAlgo(schedule), "mscclUnloadAlgo");
  }
}

}  // namespace

const Scene kScenes[] = {
    {"groups", run_groups}, {"graphs", run_graphs},       {"repeats", run_repeats},
    {"split", run_split},   {"schedules", run_schedules},
};
const size_t kSceneCount = std::size(kScenes);

}  // namespace amd_test
