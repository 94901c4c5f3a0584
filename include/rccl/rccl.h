// The public C interface: names, values and layouts of RCCL 2.28.3, usable from C11 and C++.
// Owns: what a program written for RCCL or NCCL 2.28 compiles against. Does not own: newer
// functions of NCCL (nccl_2_30.h), our own ones (weft.h), the profiling names (pnccl.h, included at
// the end). Next on the path: src/api_collectives.cc.
//
// Rules that hold for every function, unless its comment says otherwise:
//
// Counts are elements of `datatype`, sizes are bytes. Buffers are device memory that the
// communicator's device can reach, aligned to their type. A count of 0 is legal and moves nothing.
//
// A collective is called by every rank of the communicator, in the same order, with equal count,
// datatype, op and root. It is put on `stream` and returns before the data has moved; its buffers
// are in use until the stream has passed it. sendbuff and recvbuff are in place exactly as the
// function says, or do not overlap.
//
// Operations of a communicator run in the order of their calls, on whatever streams. A stream that
// captures records them; launches of graphs (hipGraphLaunch) and other calls run in the order in
// which the program makes them, which is equal on all ranks, too.
//
// Between ncclGroupStart and ncclGroupEnd a call only notes what to do. An error in its arguments
// is returned at once and again by ncclGroupEnd, any other by ncclGroupEnd.
//
// Errors. ncclInvalidArgument: a pointer is NULL that must not be, a communicator is NULL or was
// destroyed, a value is out of its range. ncclInvalidUsage: calls do not fit each other, or this
// version lacks the function. ncclUnhandledCudaError: the HIP runtime failed. ncclSystemError: the
// operating system did. ncclRemoteError: a peer is gone or cannot be reached. ncclInternalError: a
// defect of the library. ncclInProgress: work goes on, on a communicator with blocking = 0.
// ncclGetLastError has the text. Outputs are written on success only.
//
// Threads. Any thread may call any function, but on one communicator one thread at a time. "Any
// thread, any time" means: also while another thread is inside a call on that communicator.
#ifndef NCCL_H_
#define NCCL_H_

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

// ---- Version and features ----

#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 3
#define NCCL_SUFFIX ""
#define NCCL_VERSION_CODE 22803
// The code of release X.Y.Z: four digits up to 2.8, five after it.
#define NCCL_VERSION(X, Y, Z) \
  (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))

// What programs test for before they use a type or function.
#define RCCL_BFLOAT16 1
#define RCCL_FLOAT8 1
#define RCCL_GATHER_SCATTER 1
#define RCCL_ALLTOALLV 1
#define RCCL_ALLREDUCE_WITH_BIAS 1

// ---- Constants ----

#define NCCL_COMM_NULL NULL
#define NCCL_UNIQUE_ID_BYTES 128
// A field of ncclConfig_t that the caller leaves to the library.
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_SPLIT_NOCOLOR -1             // ncclCommSplit: this rank is in no new communicator
#define NCCL_UNDEF_FLOAT -1.0f            // ncclSimInfo_t: not estimated
#define NCCL_WIN_DEFAULT 0x00             // ncclCommWindowRegister: flags
#define NCCL_WIN_COLL_SYMMETRIC 0x01      //   the same offset on every rank
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096  // bytes
#define NCCL_CTA_POLICY_DEFAULT 0x00      // ncclConfig_t.CTAPolicy
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02
#define NCCL_SHRINK_DEFAULT 0x00  // ncclCommShrink: flags
#define NCCL_SHRINK_ABORT 0x01

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

// ---- Types ----

typedef struct ncclComm* ncclComm_t;             // one rank of a communicator
typedef struct ncclWindow_vidmem* ncclWindow_t;  // a buffer registered by all ranks
typedef int mscclAlgoHandle_t;

// Made by one process, carried to the others by the program (MPI, a file, a store), passed by
// value. Its bytes are private to the library and hold a secret: do not print them.
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclNumResults = 8
} ncclResult_t;

// Gives ncclRedOp_t the width of an enum. Values from ncclNumOps on are made by
// ncclRedOpCreatePreMulSum.
typedef enum { ncclNumOps_dummy = 5 } ncclRedOp_dummy_t;
typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff >> (32 - 8 * sizeof(ncclRedOp_dummy_t))
} ncclRedOp_t;

// The 8-bit floats are the FNUZ encodings on gfx942 and the OCP encodings everywhere else.
typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

// Where the scalar of ncclRedOpCreatePreMulSum lies: read on the device when the operation runs, or
// on the host at once.
typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

// Wishes for a communicator. Start from NCCL_CONFIG_INITIALIZER. Programs built against NCCL 2.14
// to 2.30 pass structs of 24 to 96 bytes: `size` and `version` say which fields are there. The
// environment wins over a field.
typedef struct ncclConfig_v22800 {
  size_t size;              // sizeof(ncclConfig_t) of the caller
  unsigned int magic;       // 0xcafebeef
  unsigned int version;     // NCCL_VERSION_CODE of the caller
  int blocking;             // 1: calls return when done; 0: they return ncclInProgress, see
                            // ncclCommGetAsyncError
  int cgaClusterSize;       // blocks of a cluster, where the device has clusters
  int minCTAs;              // fewest blocks of a kernel, > 0
  int maxCTAs;              // most blocks of a kernel, >= minCTAs
  const char* netName;      // name of the network to use
  int splitShare;           // 1: communicators split off share resources
  int trafficClass;         // of the network
  const char* commName;     // for messages
  int collnetEnable;        // 1: reductions in the network, where there are any
  int CTAPolicy;            // NCCL_CTA_POLICY_...
  int shrinkShare;          // 1: communicators shrunk from this one share resources
  int nvlsCTAs;             // blocks for reductions in the switch, where there are any
  int nChannelsPerNetPeer;  // channels to each peer behind the network
  int nvlinkCentricSched;   // 1: prefer the device links over the network
} ncclConfig_t;

#define NCCL_CONFIG_INITIALIZER                                                         \
  {                                                                                     \
    sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH), \
        NCCL_CONFIG_UNDEF_INT, /* blocking */                                           \
        NCCL_CONFIG_UNDEF_INT, /* cgaClusterSize */                                     \
        NCCL_CONFIG_UNDEF_INT, /* minCTAs */                                            \
        NCCL_CONFIG_UNDEF_INT, /* maxCTAs */                                            \
        NCCL_CONFIG_UNDEF_PTR, /* netName */                                            \
        NCCL_CONFIG_UNDEF_INT, /* splitShare */                                         \
        NCCL_CONFIG_UNDEF_INT, /* trafficClass */                                       \
        NCCL_CONFIG_UNDEF_PTR, /* commName */                                           \
        NCCL_CONFIG_UNDEF_INT, /* collnetEnable */                                      \
        NCCL_CONFIG_UNDEF_INT, /* CTAPolicy */                                          \
        NCCL_CONFIG_UNDEF_INT, /* shrinkShare */                                        \
        NCCL_CONFIG_UNDEF_INT, /* nvlsCTAs */                                           \
        NCCL_CONFIG_UNDEF_INT, /* nChannelsPerNetPeer */                                \
        NCCL_CONFIG_UNDEF_INT, /* nvlinkCentricSched */                                 \
  }

// What ncclGroupSimulateEnd answers. Start from NCCL_SIM_INFO_INITIALIZER.
typedef struct ncclSimInfo_v22200 {
  size_t size;           // sizeof(ncclSimInfo_t) of the caller
  unsigned int magic;    // 0x74685283
  unsigned int version;  // NCCL_VERSION_CODE of the caller
  float estimatedTime;   // microseconds
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER                                                        \
  {                                                                                      \
    sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH), \
        NCCL_UNDEF_FLOAT                                                                 \
  }

// ---- Library ----

// Stores 22803, the release whose interface this is (weftGetVersion says which library). NULL:
// ncclInvalidArgument. Threads: any thread, any time.
ncclResult_t ncclGetVersion(int* version);

// The fixed English text of a code; "unknown result code" for any other number. Never NULL; not to
// be freed. Threads: any thread, any time.
const char* ncclGetErrorString(ncclResult_t result);

// What went wrong in the latest failed call of this thread, else of the process; "" when nothing
// did. `comm` may be NULL. Valid until this thread calls it again. Never NULL; not to be freed.
// Threads: any thread, any time.
const char* ncclGetLastError(ncclComm_t comm);

// Reads the NCCL_DEBUG variables again. Threads: any thread, any time.
void ncclResetDebugInit(void) __attribute__((deprecated));

// Allocates `size` bytes on the current device in the way that collectives use best, and stores the
// address in *ptr. Size 0 stores NULL. Errors: ncclInvalidArgument for ptr NULL;
// ncclUnhandledCudaError when memory is short. Threads: any thread, any time.
ncclResult_t ncclMemAlloc(void** ptr, size_t size);

// Frees what ncclMemAlloc gave; no operation may still use it. NULL: ncclSuccess. Threads: any
// thread, any time.
ncclResult_t ncclMemFree(void* ptr);

// ---- Communicators ----

// Makes an id for one new communicator and begins to listen for its ranks, so the calling process
// must live until every rank has returned from its init. With NCCL_COMM_ID set the id names that
// address. Errors: ncclInvalidArgument for NULL; ncclSystemError or ncclInvalidUsage when no
// network interface fits. Threads: any thread, any time.
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId);

// Creates rank `rank` of `nranks` on the current device and stores it in *comm. Every rank calls it
// with the same id; it waits for all of them, at most for the init timeout. A thread that creates
// several ranks puts the calls in one group. Errors: ncclInvalidArgument for nranks < 1 or rank
// outside 0..nranks-1; ncclInvalidUsage for two ranks on one device, a rank given twice, different
// nranks or library versions; ncclRemoteError for a rank that failed or did not come in time.
// Threads: any thread; ranks of one communicator may be created by threads in parallel.
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);

// The same with wishes. `config` may be NULL and is read during the call only. A wrong magic or a
// field out of range: ncclInvalidArgument. With blocking = 0 it stores *comm and returns
// ncclInProgress.
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config);

// The same with nId ids, 1 <= nId <= nranks, each made by another process, all passed in the same
// order on every rank; ranks spread over them, so that a large start does not meet at one address.
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config);

// Creates a communicator of `ndev` ranks in this process, rank i on devlist[i] (NULL: device i),
// and stores them in comm[0..ndev-1]. Errors: ncclInvalidArgument for ndev < 1 or a device that
// does not exist; ncclInvalidUsage for one that is there twice. On an error no element of comm is
// written. Threads: any thread, any time.
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);

// Waits until every operation issued on this rank has completed and the peers need nothing more of
// it. Called by every rank. After it only queries, ncclCommDestroy and ncclCommAbort are legal.
// With blocking = 0: ncclInProgress.
ncclResult_t ncclCommFinalize(ncclComm_t comm);

// Finalizes if that was not done, then frees the communicator: the handle is dead afterwards. NULL:
// ncclSuccess. An unfinished operation is waited for. Legal in a group.
// A graph that captured operations may live on: memory that its kernels read goes with it. The
// caller waits for executions of the graph that it launched. Launched afterwards, the operations do
// nothing, the graph ends, and a warning is logged: captured operations need their communicator.
ncclResult_t ncclCommDestroy(ncclComm_t comm);

// Ends every operation of this rank, running kernels included, without waiting for peers, and frees
// the communicator. Returns in bounded time. NULL: ncclSuccess. Of graphs that captured operations
// the same is true as for ncclCommDestroy, and executions that run end as well. Threads: any
// thread, any time; no other call on `comm` may begin after it.
ncclResult_t ncclCommAbort(ncclComm_t comm);

// Stores the state of the communicator: ncclSuccess, ncclInProgress while a call with blocking = 0
// goes on, or the error that ended it (then ncclCommAbort is what is left). Never waits. Threads:
// any thread, any time before destroy or abort.
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);

// Store the number of ranks, the HIP device and the rank. Threads: any thread, any time before
// destroy or abort.
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);

// Collective: ranks of equal `color` >= 0 form a new communicator on their devices, ordered by
// `key`, then by old rank; NCCL_SPLIT_NOCOLOR stores NULL. `config` NULL: the parent's. Kernels of
// the parent may run meanwhile; the new communicator shares nothing with it. Legal in a group, also
// several times: then it happens at the end. Of a parent with blocking = 0: ncclInProgress, and
// *newcomm is stored before the parent's ncclCommGetAsyncError says something else. Arguments that
// are wrong on one rank (ncclInvalidArgument) are an error of all, and leave the parent as it was.
// A rank that does not call within the init timeout: ncclSystemError, and the parent is of no use
// any more.
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                           ncclConfig_t* config);

// Called by every rank that is not in excludeRanksList: a new communicator of those, in old order.
// NCCL_SHRINK_ABORT ends what the parent still runs first. `config` NULL: the parent's. Not in this
// version: ncclInvalidUsage.
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);

// ---- Registered memory ----

// Says that `size` bytes at `buff`, device memory of any kind, will be used often; *handle takes
// them back. Local and quick. Size 0 stores NULL. Memory that was registered is taken back before
// it is freed, at the latest by ncclCommDestroy. Errors: ncclInvalidArgument for host memory, for a
// handle that is none of this communicator's; taking back NULL: ncclSuccess. Threads: any thread.
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle);

// Collective: every rank gives a buffer from ncclMemAlloc, its start aligned to
// NCCL_WIN_REQUIRED_ALIGNMENT bytes; *win names them all, and is NULL when all sizes are 0. Legal
// in a group: then it happens at the end. With NCCL_WIN_COLL_SYMMETRIC sizes and offsets from the
// start of the allocation are equal on all ranks. Errors are those of all ranks:
// ncclInvalidArgument for a buffer or flags that one of them cannot use, ncclInvalidUsage when they
// do not fit each other. Deregistering is local; NULL: ncclSuccess.
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);

// ---- Reductions of one's own ----

// Stores an op of this communicator that multiplies every input by *scalar (of type `datatype`) and
// sums. Each rank makes its own; scalars may differ. Usable with that type only, until
// ncclRedOpDestroy, which operations already issued survive. With ncclScalarDevice *scalar is read
// when an operation runs and must be there until then. Errors: ncclInvalidArgument for a scalar
// that is not in memory of that residence, for an op that is the library's, another communicator's
// or was destroyed. Threads: any thread.
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

// ---- Collectives ----

// recvbuff[i] on every rank = op over all ranks of sendbuff[i], 0 <= i < count. In place: sendbuff
// == recvbuff.
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           hipStream_t stream);

// ncclAllReduce, then acc[i] is added once to every recvbuff[i] (joined by `op`); acc holds `count`
// elements, the same on each rank, and must not be NULL. In place: sendbuff == recvbuff, acc ==
// recvbuff, or both.
ncclResult_t ncclAllReduceWithBias(const void* sendbuff, void* recvbuff, size_t count,
                                   ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                   hipStream_t stream, const void* acc);

// recvbuff[i] on rank `root` = op over all ranks of sendbuff[i]; recvbuff of other ranks is not
// used and may be NULL. In place: sendbuff == recvbuff.
ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, hipStream_t stream);

// recvbuff on every rank = sendbuff of `root`; sendbuff of other ranks is not used and may be NULL.
// In place: sendbuff == recvbuff.
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm, hipStream_t stream);

// ncclBroadcast in place: `buff` is read on `root` and written elsewhere.
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       hipStream_t stream);

// recvbuff[i] on rank r = op over all ranks of sendbuff[r * recvcount + i]; sendbuff holds nranks *
// recvcount elements. In place: recvbuff == sendbuff + rank * recvcount.
ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               hipStream_t stream);

// recvbuff[r * sendcount + i] on every rank = sendbuff[i] of rank r; recvbuff holds nranks *
// sendcount elements. In place: sendbuff == recvbuff + rank * sendcount.
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream);

// recvbuff[p * count + i] on rank r = sendbuff[r * count + i] of rank p; both hold nranks * count
// elements. In place: sendbuff == recvbuff, which RCCL and NCCL do not offer. ncclAllToAll is an
// older spelling of the same.
ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream);
ncclResult_t ncclAllToAll(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream);

// sendcounts[p] elements at sendbuff + sdispls[p] go to rank p; recvcounts[p] from rank p arrive at
// recvbuff + rdispls[p]. The arrays lie on the host, hold nranks entries counted in elements, and
// are read during the call. Counts of a pair agree on both ranks and may be 0. Never in place.
// ncclAllToAllv is an older spelling of the same.
ncclResult_t ncclAlltoAllv(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                           void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                           ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream);
ncclResult_t ncclAllToAllv(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                           void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                           ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream);

// recvbuff[r * count + i] on `root` = sendbuff[i] of rank r; recvbuff is used on root only and
// holds nranks * count elements. In place on root: sendbuff == recvbuff + root * count.
ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, hipStream_t stream);

// recvbuff[i] on rank r = sendbuff[r * count + i] of `root`; sendbuff is used on root only and
// holds nranks * count elements. In place on root: recvbuff == sendbuff + root * count.
ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, hipStream_t stream);

// ---- Point to point ----

// The n-th send to a peer meets the n-th receive there from this rank, with equal count and
// datatype. A rank that sends and receives, or sends to itself, puts both calls in one group.
ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, hipStream_t stream);
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, hipStream_t stream);

// ---- Groups ----

// Begins a group of this thread. Groups nest; only the outermost end does something. Threads: any
// thread, any time.
ncclResult_t ncclGroupStart(void);

// Starts everything noted since ncclGroupStart as one operation a communicator, and returns the
// first error of the group's calls too, in which case nothing of the group was started. Calls of a
// group may run side by side, so none may use what another one writes; and all ranks put the same
// broadcasts, and the same reduces, into a group together (broadcasts that follow one another are
// one operation). Without a group: ncclInvalidUsage. Communicators with blocking = 0 and with
// blocking = 1 do not mix in a group: ncclInvalidArgument. Threads: any thread, any time.
ncclResult_t ncclGroupEnd(void);

// Ends the group without starting anything, and stores an estimate of the time it would take; an
// inner end stores 0. The group is gone whatever the result. Errors: ncclInvalidUsage without a
// group, the error of a call in it, ncclInvalidArgument for NULL or a wrong magic.
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo);

// ---- Custom schedules ----

// A schedule says step by step who sends which chunk to whom, in the XML of MSCCL: <algo name proto
// nchannels nchunksperloop ngpus coll inplace outofplace>, in it <gpu>, <tb> and <step>. coll is
// allreduce, allgather, reducescatter or alltoall; proto is LL, LL128 or Simple. It says what is
// moved in which order: how many blocks do it, this library decides.

// Reads a schedule, shows by simulation that it does what it claims, and stores a handle. rank: one
// of the schedule's; a handle serves all of them. Errors: ncclInvalidUsage for XML that is no
// schedule, for one that is wrong (a rank would wait for ever, a result would be incomplete, two
// blocks may touch a chunk at once) and for one that this library cannot carry out, each with a
// text that says where; also when it was built without pugixml. ncclInvalidArgument for NULL and
// for a rank that the schedule has not, ncclSystemError for a file that cannot be read. Threads:
// any thread, any time.
ncclResult_t mscclLoadAlgo(const char* mscclAlgoFilePath, mscclAlgoHandle_t* mscclAlgoHandle,
                           int rank);

// Runs a schedule as its collective: buffers, count, op, in place and groups are as in
// ncclAllReduce, ncclAllGather, ncclReduceScatter or ncclAllToAll. All ranks of comm run schedules
// of the same file. Looked at: sendBuff, recvBuff, count, dataType, op where it reduces, comm,
// stream; nothing else. minBytes and maxBytes of the schedule do not restrict it. Errors: those of
// the collective; ncclInvalidArgument for a handle that is not loaded and a schedule for another
// number of ranks; ncclInvalidUsage with WEFT_DETERMINISTIC=1 where it does not fold in rank order.
// Threads: as other collectives.
ncclResult_t mscclRunAlgo(const void* sendBuff, const size_t sendCounts[], const size_t sDisPls[],
                          void* recvBuff, const size_t recvCounts[], const size_t rDisPls[],
                          size_t count, ncclDataType_t dataType, int root, int peer, ncclRedOp_t op,
                          mscclAlgoHandle_t mscclAlgoHandle, ncclComm_t comm, hipStream_t stream);

// Ends a handle. What was started with it, or captured, runs on. Errors: ncclInvalidArgument for
// what is no handle. Threads: any thread, any time.
ncclResult_t mscclUnloadAlgo(mscclAlgoHandle_t mscclAlgoHandle);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#include <rccl/pnccl.h>

#endif  // NCCL_H_
