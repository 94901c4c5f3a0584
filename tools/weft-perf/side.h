// One library's half of a run in this process: a communicator, a stream and two buffers for every
// local rank. Owns: their creation and end, registration, the scalars of mulsum. Two sides share
// nothing but the devices. Next on the path: runner.h enqueues calls on them.
#pragma once

#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <string>
#include <vector>

#include "crew.h"
#include "exchange.h"
#include "library.h"
#include "options.h"
#include "types.h"

namespace weft::perf {

// Which ranks this process holds: threads x gpus of them, in that order, from first_rank on.
struct World {
  int ranks = 1, first_rank = 0;
  int devices = 1, first_device = 0;  // that this process sees, and uses first
  int threads = 1, gpus = 1;
  int local_ranks() const { return threads * gpus; }
  // Devices are taken in turn where ranks share them.
  int device_of(int local) const { return (first_device + local) % devices; }
};

// Bytes behind every buffer's end that nothing may touch.
constexpr size_t kGuardBytes = 512;

struct LocalRank {
  int rank = 0, device = 0;
  ncclComm_t comm = nullptr;
  hipStream_t stream = nullptr;
  void* buffers[2] = {};  // input and output
  ncclRedOp_t op = ncclSum;
  void* handles[2] = {};
  ncclWindow_t windows[2] = {};
};

class Side {
 public:
  // `capacity`: bytes that each buffer must hold.
  Side(std::string label, Api api, const World& world, const Options& options, size_t capacity);

  // Collective over all processes and local ranks.
  void open(Exchange& exchange, Crew& crew);
  void close();
  // The next calls reduce with `op` on elements of `type`. A copy keeps whatever was set.
  void set_operation(const TypeInfo& type, Operation op);
  // ncclCommAbort on every communicator. Any thread.
  void abort_all();

  // Throws Failure unless the result is ncclSuccess; `what` is a function that gives the text,
  // called only then.
  template <class What>
  void check(ncclResult_t result, What what) const {
    if (result != ncclSuccess) check_result(api_, result, what());
  }

  const std::string& label() const { return label_; }
  const Api& api() const { return api_; }
  const World& world() const { return world_; }
  size_t capacity() const { return capacity_; }
  const std::vector<LocalRank>& locals() const { return locals_; }

 private:
  void init_ranks(const ncclUniqueId& id, int first, int count);
  void allocate(LocalRank& local);
  void register_buffers();
  void deregister(LocalRank& local);
  void drop_operation(LocalRank& local);
  size_t buffer_bytes() const;

  const std::string label_;
  const Api api_;
  const World world_;
  const Options& options_;
  const size_t capacity_;
  std::vector<LocalRank> locals_;
};

}  // namespace weft::perf
