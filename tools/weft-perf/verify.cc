// A checked call. See verify.h.
#include "verify.h"

#include <fmt/format.h>

#include <numeric>

#include "gpu.h"

namespace weft::perf {
namespace {

void fill_rank(const LocalRank& local, const Runner& runner, TestData& data, size_t start) {
  const Trial& trial = runner.trial();
  const Shape shape = runner.shape(local);
  const size_t width = trial.type->bytes;
  const Pointers at = runner.pointers(local, 0);
  check_hip(hipSetDevice(local.device), "hipSetDevice");
  poison(at.recv, trial.collective->recv_elems(shape) * width + kGuardBytes);
  data.fill(at.send, trial.collective->send_elems(shape), local.rank, start);
  check_hip(hipDeviceSynchronize(), "hipDeviceSynchronize");
}

void check_guards(const LocalRank& local, const Runner& runner, TestData& data, size_t start,
                  Verdict& verdict) {
  const Trial& trial = runner.trial();
  const Shape shape = runner.shape(local);
  const Pointers at = runner.pointers(local, 0);
  const char* end = at.recv + trial.collective->recv_elems(shape) * trial.type->bytes;
  if (!is_poison(end, kGuardBytes) && verdict.wrong++ == 0) {
    verdict.first = "memory behind the output was written";
  }
  Verdict input;
  data.check(at.send, {0, trial.collective->send_elems(shape), local.rank, 0}, start, input);
  if (input.wrong > 0 && verdict.wrong == 0)
    verdict.first = "the input was changed: " + input.first;
  verdict.wrong += input.wrong;
}

Verdict check_rank(const LocalRank& local, const Runner& runner, TestData& data, size_t start) {
  Verdict verdict;
  const Trial& trial = runner.trial();
  check_hip(hipSetDevice(local.device), "hipSetDevice");
  const Pointers at = runner.pointers(local, 0);
  for (const Segment& segment : trial.collective->expected(runner.shape(local))) {
    data.check(at.recv, segment, start, verdict);
  }
  if (!trial.in_place) check_guards(local, runner, data, start, verdict);
  return verdict;
}

void report(const Side& side, const LocalRank& local, const Trial& trial, const Verdict& verdict) {
  fmt::print(stderr, "weft-perf: wrong: {}: {} {} {} of {} {}, root {}, rank {}: {}; {} wrong\n",
             side.label(), trial.in_place ? "in-place" : "out-of-place", operation_name(trial.op),
             trial.collective->name, trial.count, trial.type->name, trial.root, local.rank,
             verdict.first, verdict.wrong);
}

}  // namespace

uint64_t verify(const Side& side, Crew& crew, Runner& runner, TestData& data, size_t start) {
  const auto& locals = side.locals();
  const auto gpus = static_cast<size_t>(side.world().gpus);
  const auto each_local = [&](auto&& act) {
    crew.run([&](int thread) {
      const size_t first = static_cast<size_t>(thread) * gpus;
      for (size_t i = first; i < first + gpus; ++i) act(i);
    });
  };
  each_local([&](size_t i) { fill_rank(locals[i], runner, data, start); });
  runner.run_once();
  std::vector<Verdict> verdicts(locals.size());
  each_local([&](size_t i) { verdicts[i] = check_rank(locals[i], runner, data, start); });
  uint64_t wrong = 0;
  for (size_t i = 0; i < locals.size(); ++i) {
    if (verdicts[i].wrong > 0) report(side, locals[i], runner.trial(), verdicts[i]);
    wrong += verdicts[i].wrong;
  }
  return wrong;
}

}  // namespace weft::perf
