// The C entry points of communicators and groups. Each checks what it was given and does its work
// through the parts that own it. Calls that move data: api_collectives.cc; memory and windows:
// api_memory.cc; ops: api_ops.cc.
#include "api_guard.h"
#include "bootstrap/bootstrap.h"
#include "close.h"
#include "device_scope.h"
#include "estimate.h"
#include "split.h"

namespace weft {
namespace {

// Of NCCL_COMM_BLOCKING over the caller's word.
CommOptions options_of(const ncclConfig_t* given, const Config& config) {
  CommOptions options = read_options(given);
  if (config.blocking) options.blocking = *config.blocking != 0;
  return options;
}

ncclResult_t init_rank(const char* function, ncclComm_t* out, int size, const ncclUniqueId& id,
                       int rank, const ncclConfig_t* given) {
  require_pointer(function, "comm", out);
  require_rank(function, rank, size);
  const auto config = read_config();
  InitJob job{std::make_unique<Communicator>(rank, size, current_device(), config,
                                             options_of(given, *config)),
              id, out};
  log_info(Subsystem::kInit, "{}_impl comm {} rank {} nranks {} cudaDev {} commId {} - Init START",
           function, fmt::ptr(job.comm.get()), rank, size, job.comm->device(), unique_id_label(id));
  return Group::current().add(std::move(job));
}

void require_devices(int count, const int* devices, bool may_share) {
  int present = 0;
  hip_check(hipGetDeviceCount(&present), "counting devices");
  for (int i = 0; i < count; ++i) {
    if (devices[i] < 0 || devices[i] >= present)
      fail(ncclInvalidArgument, "ncclCommInitAll: devlist[{}] is {}, there are {} devices", i,
           devices[i], present);
    for (int j = 0; j < i && !may_share; ++j)
      if (devices[i] == devices[j])
        fail(ncclInvalidUsage, "ncclCommInitAll: devlist names device {} twice", devices[i]);
  }
}

ncclResult_t init_all(ncclComm_t* comms, int count, const int* devlist) {
  require_pointer("ncclCommInitAll", "comm", comms);
  if (count < 1)
    fail(ncclInvalidArgument, "ncclCommInitAll: ndev is {}, it must be at least 1", count);
  std::vector<int> devices(count);
  for (int i = 0; i < count; ++i) devices[i] = devlist ? devlist[i] : i;
  const auto config = read_config();
  require_devices(count, devices.data(), config->allow_shared_device);
  const ncclUniqueId id = create_unique_id(*config);
  std::vector<ncclComm_t> made(count, nullptr);
  std::vector<InitJob> jobs;
  for (int i = 0; i < count; ++i)
    jobs.push_back({std::make_unique<Communicator>(i, count, devices[i], config, CommOptions{}), id,
                    &made[i]});
  try {
    run_inits(std::move(jobs));
  } catch (...) {
    for (ncclComm_t comm : made)
      if (comm != nullptr) abort(comm);
    throw;
  }
  std::copy(made.begin(), made.end(), comms);
  return ncclSuccess;
}

constexpr unsigned kSimMagic = 0x74685283;

// Communicators work side by side.
ncclResult_t simulate_end(ncclSimInfo_t* info) {
  double longest = 0;
  Group::current().discard([&](Communicator& comm, std::span<const Request> requests) {
    longest = std::max(longest, estimate_us(comm, requests));
  });  // whatever is wrong with `info`
  require_pointer("ncclGroupSimulateEnd", "simInfo", info);
  if (info->magic != kSimMagic ||
      info->size < offsetof(ncclSimInfo_t, estimatedTime) + sizeof(float))
    fail(ncclInvalidArgument,
         "ncclGroupSimulateEnd: simInfo has magic {:#x} and size {}: it must start as "
         "NCCL_SIM_INFO_INITIALIZER",
         info->magic, info->size);
  info->estimatedTime = float(longest);
  return ncclSuccess;
}

ncclResult_t query(const char* function, ncclComm_t handle, int* out,
                   int (Communicator::*value)() const) {
  return guard([&] {
    const auto comm = communicator_of(handle, function);
    require_pointer(function, "out", out);
    *out = ((*comm).*value)();
    return ncclSuccess;
  });
}

}  // namespace
}  // namespace weft

using namespace weft;

WEFT_API(ncclGetUniqueId)
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return guard([&] {
    require_pointer("ncclGetUniqueId", "uniqueId", uniqueId);
    *uniqueId = create_unique_id(*read_config());
    return ncclSuccess;
  });
}

WEFT_API(ncclCommInitRank)
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return guard_in_group(
      [&] { return init_rank("ncclCommInitRank", comm, nranks, commId, rank, nullptr); });
}

WEFT_API(ncclCommInitRankConfig)
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  return guard_in_group(
      [&] { return init_rank("ncclCommInitRankConfig", comm, nranks, commId, rank, config); });
}

// One meeting point is enough for any number of ranks (bootstrap/README.md), so the first id
// serves; all ranks have it.
WEFT_API(ncclCommInitRankScalable)
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config) {
  return guard_in_group([&] {
    require_pointer("ncclCommInitRankScalable", "commIds", commIds);
    if (nId < 1 || nId > nranks)
      fail(ncclInvalidArgument, "ncclCommInitRankScalable: nId is {}, nranks {}", nId, nranks);
    return init_rank("ncclCommInitRankScalable", newcomm, nranks, commIds[0], myrank, config);
  });
}

WEFT_API(ncclCommInitAll)
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  return guard([&] { return init_all(comm, ndev, devlist); });
}

WEFT_API(ncclCommFinalize)
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return guard([&] {
    finalize(*communicator_of(comm, "ncclCommFinalize"));
    return ncclSuccess;
  });
}

WEFT_API(ncclCommDestroy)
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return guard([&] { return destroy(comm); });
}

WEFT_API(ncclCommAbort)
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return guard([&] { return abort(comm); });
}

WEFT_API(ncclCommGetAsyncError)
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return guard([&] {
    const auto communicator = communicator_of(comm, "ncclCommGetAsyncError");
    require_pointer("ncclCommGetAsyncError", "asyncError", asyncError);
    *asyncError = communicator->async_error();
    return ncclSuccess;
  });
}

WEFT_API(ncclGetLastError)
const char* ncclGetLastError(ncclComm_t comm) {
  thread_local std::string text;
  try {
    if (comm != nullptr) text = communicator_of(comm, "ncclGetLastError")->error_text();
    if (comm != nullptr && !text.empty()) return text.c_str();
  } catch (const std::exception&) {  // a destroyed communicator has no text of its own
  }
  return last_error_text();
}

WEFT_API(ncclResetDebugInit)
void ncclResetDebugInit() { log_reset(); }

WEFT_API(ncclCommCount)
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return query("ncclCommCount", comm, count, &Communicator::size);
}

WEFT_API(ncclCommUserRank)
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return query("ncclCommUserRank", comm, rank, &Communicator::rank);
}

WEFT_API(ncclCommCuDevice)
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return query("ncclCommCuDevice", comm, device, &Communicator::device);
}

// Arguments that are wrong are told to all ranks, which wait for this one.
WEFT_API(ncclCommSplit)
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                           ncclConfig_t* config) {
  return guard_in_group([&] {
    const auto parent = communicator_of(comm, "ncclCommSplit");
    parent->require_ready("ncclCommSplit");
    SplitCall call{newcomm, color, key, parent->options(), {}};
    call.refusal = refusal_of([&] {
      require_pointer("ncclCommSplit", "newcomm", newcomm);
      require_color(color);
      if (config != nullptr) call.options = options_of(config, parent->config());
    });
    return Group::current().add(
        HostJob{parent, [call](Communicator& on) { return split(on, call); }});
  });
}

WEFT_API(ncclGroupStart)
ncclResult_t ncclGroupStart() {
  Group::current().start();
  return ncclSuccess;
}

WEFT_API(ncclGroupEnd)
ncclResult_t ncclGroupEnd() {
  return guard([] { return Group::current().end(); });
}

WEFT_API(ncclGroupSimulateEnd)
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo) {
  return guard([&] { return simulate_end(simInfo); });
}
