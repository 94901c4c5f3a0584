// A collective library for the tests of weft-perf: AllReduce of int32 and float sums, correct and
// slow. Ranks may be threads or processes: inputs meet in a file that ncclGetUniqueId names. The
// work is a host function in stream order, so it is asynchronous and can be captured. All other
// collectives answer as a library that lacks them. FAKE_CCL_FAULT=wrong spoils element 1 on rank 0,
// =stale answers with the result of the all-reduce of that size before, =overrun writes behind the
// output, =hang never ends until ncclCommAbort, =stuck not even then, =fail refuses every
// all-reduce. FAKE_CCL_DELAY_US (a definition) makes the slow variant.
#include <fcntl.h>
#include <rccl/rccl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#ifndef FAKE_CCL_DELAY_US
#define FAKE_CCL_DELAY_US 0
#endif

namespace {

constexpr size_t kSlotBytes = size_t{64} << 10;
constexpr int kMostRanks = 64;

struct Region {
  std::atomic<uint64_t> arrived;
  char slots[kMostRanks][kSlotBytes];
};

std::string last_error;  // of the last refused call

bool fault_is(const char* name) {
  const char* fault = std::getenv("FAKE_CCL_FAULT");
  return fault != nullptr && std::strcmp(fault, name) == 0;
}

struct Op;

}  // namespace

struct ncclComm {
  int rank, ranks, device;
  Region* region;
  std::atomic<bool> aborted;
  std::atomic<bool> refused;  // its use after the abort
  uint64_t phase;
  std::string file;
  std::vector<std::unique_ptr<Op>> ops;
  std::string last_result;  // for the fault "stale"

  // False when aborted.
  bool barrier() {
    ++phase;
    region->arrived.fetch_add(1);
    while (region->arrived.load() < phase * static_cast<uint64_t>(ranks)) {
      if (aborted.load()) return false;
      sched_yield();
    }
    return true;
  }
};

namespace {

enum class Kind { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce, kAllToAll, kGather };

struct Op {
  Kind kind;
  ncclComm* comm;
  const char* send;
  char* recv;
  size_t count;
  ncclDataType_t type;
  int root;
};

size_t type_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    default:
      return 1;
  }
}

// out = the sum over ranks of `count` elements that begin at element `start` of each slot.
template <class T>
void add_slots(const ncclComm& comm, char* out, size_t start, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T sum{};
    for (int rank = 0; rank < comm.ranks; ++rank) {
      T value;
      std::memcpy(&value, comm.region->slots[rank] + (start + i) * sizeof(T), sizeof(T));
      sum += value;
    }
    std::memcpy(out + i * sizeof(T), &sum, sizeof(T));
  }
}

void add(const Op& op, char* out, size_t start, size_t count) {
  if (op.type == ncclFloat32) {
    add_slots<float>(*op.comm, out, start, count);
  } else {
    add_slots<uint32_t>(*op.comm, out, start, count);
  }
}

// Any size, a slot at a time.
bool all_reduce(const Op& op) {
  ncclComm& comm = *op.comm;
  const size_t slot_elems = kSlotBytes / 4;
  for (size_t done = 0; done < op.count; done += slot_elems) {
    const size_t count = std::min(slot_elems, op.count - done);
    std::memcpy(comm.region->slots[comm.rank], op.send + done * 4, count * 4);
    if (!comm.barrier()) return false;
    add(op, op.recv + done * 4, 0, count);
    if (!comm.barrier()) return false;
  }
  return true;
}

// What this rank takes out of the slots, once all inputs are there.
void take(const Op& op) {
  const ncclComm& comm = *op.comm;
  const size_t part = op.count * type_bytes(op.type);
  const auto rank = static_cast<size_t>(comm.rank);
  const bool is_root = comm.rank == op.root;
  if (op.kind == Kind::kReduceScatter) add(op, op.recv, rank * op.count, op.count);
  if (op.kind == Kind::kReduce && is_root) add(op, op.recv, 0, op.count);
  if (op.kind == Kind::kBroadcast) std::memcpy(op.recv, comm.region->slots[op.root], part);
  for (size_t peer = 0; peer < static_cast<size_t>(comm.ranks); ++peer) {
    const char* slot = comm.region->slots[peer];
    if (op.kind == Kind::kAllToAll) std::memcpy(op.recv + peer * part, slot + rank * part, part);
    if (op.kind == Kind::kAllGather || (op.kind == Kind::kGather && is_root)) {
      std::memcpy(op.recv + peer * part, slot, part);
    }
  }
}

bool move_at_once(const Op& op) {
  ncclComm& comm = *op.comm;
  const bool whole = op.kind == Kind::kReduceScatter || op.kind == Kind::kAllToAll;
  const size_t bytes =
      op.count * type_bytes(op.type) * (whole ? static_cast<size_t>(comm.ranks) : 1);
  std::memcpy(comm.region->slots[comm.rank], op.send, bytes);
  if (!comm.barrier()) return false;
  take(op);
  return comm.barrier();
}

void spin(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) sched_yield();
}

void answer_with_last(const Op& op) {
  std::string result(op.recv, op.count * type_bytes(op.type));
  if (op.comm->last_result.size() == result.size()) {
    std::memcpy(op.recv, op.comm->last_result.data(), result.size());
  }
  op.comm->last_result = std::move(result);
}

void run(void* data) {
  const Op& op = *static_cast<Op*>(data);
  ncclComm& comm = *op.comm;
  while (fault_is("stuck") || (fault_is("hang") && !comm.aborted.load())) sched_yield();
  spin(std::chrono::microseconds(FAKE_CCL_DELAY_US));
  if (!(op.kind == Kind::kAllReduce ? all_reduce(op) : move_at_once(op))) return;
  if (fault_is("wrong") && comm.rank == 0 && op.count > 1) op.recv[4] ^= 0x40;
  if (fault_is("stale")) answer_with_last(op);
  if (fault_is("overrun")) op.recv[op.count * 4] = 0;
}

ncclResult_t refuse(const char* text) {
  last_error = text;
  return ncclInvalidUsage;
}
ncclResult_t not_available() { return refuse("not available in this version"); }

ncclResult_t enqueue(const Op& op, hipStream_t stream) {
  if (fault_is("fail")) return refuse("told to fail");
  op.comm->ops.push_back(std::make_unique<Op>(op));
  const hipError_t launched = hipLaunchHostFunc(stream, run, op.comm->ops.back().get());
  return launched == hipSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t enqueue_copy(const Op& op, hipStream_t stream) {
  if (op.count * type_bytes(op.type) * static_cast<size_t>(op.comm->ranks) > kSlotBytes) {
    return refuse("too large");
  }
  return enqueue(op, stream);
}

ncclResult_t enqueue_sum(const Op& op, ncclRedOp_t red_op, hipStream_t stream) {
  if (red_op != ncclSum || (op.type != ncclFloat32 && op.type != ncclInt32)) return not_available();
  return op.kind == Kind::kAllReduce ? enqueue(op, stream) : enqueue_copy(op, stream);
}

const char* in(const void* pointer) { return static_cast<const char*>(pointer); }
char* out(void* pointer) { return static_cast<char*>(pointer); }

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22803;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::strcpy(id->internal, "/tmp/fake_ccl.XXXXXX");
  const int fd = mkstemp(id->internal);
  if (fd < 0 || ftruncate(fd, sizeof(Region)) != 0) return ncclSystemError;
  close(fd);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* out, int ranks, ncclUniqueId id, int rank) {
  if (ranks > kMostRanks) return refuse("too many ranks");
  const int fd = open(id.internal, O_RDWR | O_CLOEXEC);
  if (fd < 0) return ncclSystemError;
  void* map = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (map == MAP_FAILED) return ncclSystemError;
  auto* comm =
      new ncclComm{rank, ranks, 0, static_cast<Region*>(map), false, false, 0, id.internal, {}, {}};
  (void)hipGetDevice(&comm->device);
  *out = comm;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm->rank == 0) unlink(comm->file.c_str());
  munmap(comm->region, sizeof(Region));
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->aborted.store(true);
  if (fault_is("stuck") && comm->rank == 0) {
    // Another thread meets the aborted communicator, and has time to do what it does then.
    while (!comm->refused.load()) sched_yield();
    spin(std::chrono::milliseconds(300));
  }
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (comm->aborted.load()) {
    comm->refused.store(true);
    return refuse("not a communicator");
  }
  *error = ncclSuccess;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : "some error";
}
const char* ncclGetLastError(ncclComm_t) { return last_error.c_str(); }
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, hipStream_t stream) {
  return enqueue_sum({Kind::kAllReduce, comm, in(send), out(recv), count, type, 0}, op, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, hipStream_t stream) {
  return enqueue_sum({Kind::kReduceScatter, comm, in(send), out(recv), count, type, 0}, op, stream);
}
ncclResult_t ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, hipStream_t stream) {
  return enqueue_sum({Kind::kReduce, comm, in(send), out(recv), count, type, root}, op, stream);
}
ncclResult_t ncclAllGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                           ncclComm_t comm, hipStream_t stream) {
  return enqueue_copy({Kind::kAllGather, comm, in(send), out(recv), count, type, 0}, stream);
}
ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, hipStream_t stream) {
  return enqueue_copy({Kind::kBroadcast, comm, in(send), out(recv), count, type, root}, stream);
}
ncclResult_t ncclAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type,
                          ncclComm_t comm, hipStream_t stream) {
  return enqueue_copy({Kind::kAllToAll, comm, in(send), out(recv), count, type, 0}, stream);
}
ncclResult_t ncclGather(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, hipStream_t stream) {
  return enqueue_copy({Kind::kGather, comm, in(send), out(recv), count, type, root}, stream);
}
ncclResult_t ncclScatter(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t) {
  return not_available();
}

}  // extern "C"
