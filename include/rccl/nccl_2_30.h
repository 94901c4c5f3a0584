// Functions that NCCL added to its C interface from 2.28.7 to 2.30.7, and the host side of its
// device interface. The library exports them all, so that a program built against a newer NCCL
// loads. rccl.h does not include this file: it says version 22803, and a program may bring its own
// fallbacks for what 2.28.3 lacks. Why so: docs/decisions/0001-api-version.md.
// Owns: declarations. Does not own: the device interface, whose types are opaque here.
//
// None is available in this version: each returns ncclInvalidUsage and writes no output; those
// that return a team, a rank or a number of slots return zeros. The comments say what each is for.
// The rules at the top of rccl.h hold, for threads too.
#ifndef WEFT_NCCL_2_30_H_
#define WEFT_NCCL_2_30_H_

#include <rccl/rccl.h>

#define NCCL_SUSPEND_MEM 0x01          // ncclCommSuspend: give the memory back
#define NCCL_REVOKE_DEFAULT 0x00       // ncclCommRevoke: the only flag
#define NCCL_WIN_STRICT_ORDERING 0x02  // ncclCommWindowRegister

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

// ---- Types ----

typedef enum {
  ncclStatGpuMemSuspend = 0,
  ncclStatGpuMemSuspended = 1,
  ncclStatGpuMemPersist = 2,
  ncclStatGpuMemTotal = 3
} ncclCommMemStat_t;

typedef struct {
  int opCnt;   // signals to wait for
  int peer;    // from this rank
  int sigIdx;  // 0
  int ctx;     // 0
} ncclWaitSignalDesc_t;

typedef struct {
  int nRanks;
  int rank;
  int stride;  // world ranks between two members
} ncclTeam_t;

typedef struct {
  void* mcBasePtr;  // an address behind which the switch multiplies stores
} ncclMultimemHandle_t;

typedef struct ncclParamHandle* ncclParamHandle_t;
typedef struct ncclDevComm ncclDevComm_t;
typedef struct ncclDevCommRequirements ncclDevCommRequirements_t;
typedef struct ncclDevResourceRequirements ncclDevResourceRequirements_t;
typedef struct ncclCommProperties ncclCommProperties_t;
typedef struct ncclLsaBarrierHandle ncclLsaBarrierHandle_t;
typedef struct ncclGinBarrierHandle ncclGinBarrierHandle_t;
typedef struct ncclLLA2AHandle ncclLLA2AHandle_t;

// ---- Communicators that change ----

// Ends what the communicator runs, without waiting for peers, and leaves a handle that only shrink,
// grow and abort accept.
ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags);
// Makes the id by which new ranks join `comm` through ncclCommGrow. Called by one rank.
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
// A communicator of nRanks: the ranks of `comm` (uniqueId NULL and rank -1 on them) and new ones
// (comm NULL on them).
ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                          ncclComm_t* newcomm, ncclConfig_t* config);
// Gives device memory back between phases of a program, and takes it again.
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t ncclCommResume(ncclComm_t comm);
// Stores bytes, or 0 or 1 for ncclStatGpuMemSuspended.
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);

// ---- One-sided ----

// The address of this rank's part of a window.
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** ptr);
// Writes `count` elements to byte offset peerWinOffset of the peer's part of the window, then
// raises its signal.
ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, hipStream_t stream);
// Raises a signal of the peer.
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        hipStream_t stream);
// The stream waits until each of nDesc descriptors (a host array, read during the call) is met.
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                            hipStream_t stream);

// ---- Settings by name ----

// Stores a handle of the setting `key`, for the getters below.
ncclResult_t ncclParamBind(ncclParamHandle_t* handle, const char* key);
ncclResult_t ncclParamGetI8(ncclParamHandle_t handle, int8_t* value);
ncclResult_t ncclParamGetI16(ncclParamHandle_t handle, int16_t* value);
ncclResult_t ncclParamGetI32(ncclParamHandle_t handle, int32_t* value);
ncclResult_t ncclParamGetI64(ncclParamHandle_t handle, int64_t* value);
ncclResult_t ncclParamGetU8(ncclParamHandle_t handle, uint8_t* value);
ncclResult_t ncclParamGetU16(ncclParamHandle_t handle, uint16_t* value);
ncclResult_t ncclParamGetU32(ncclParamHandle_t handle, uint32_t* value);
ncclResult_t ncclParamGetU64(ncclParamHandle_t handle, uint64_t* value);
ncclResult_t ncclParamGetStr(ncclParamHandle_t handle, const char** value);
// At most maxLen bytes to `out`, the length to *len.
ncclResult_t ncclParamGet(ncclParamHandle_t handle, void* out, int maxLen, int* len);
ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* len);
ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* count);
// Prints every setting.
void ncclParamDumpAll(void);

// ---- Host side of the device interface ----

ncclResult_t ncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements_t* requirements,
                               ncclDevComm_t* devComm);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const ncclDevComm_t* devComm);
ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties);
ncclTeam_t ncclTeamWorld(ncclComm_t comm);
ncclTeam_t ncclTeamLsa(ncclComm_t comm);
ncclTeam_t ncclTeamRail(ncclComm_t comm);
int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank);
int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank);
int ncclLLA2ACalcSlots(int maxElts, int maxEltSize);
ncclResult_t ncclLLA2ACreateRequirement(int nBlocks, int nSlots, ncclLLA2AHandle_t* handle,
                                        ncclDevResourceRequirements_t* requirements);
ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t team, int nBarriers,
                                             ncclLsaBarrierHandle_t* handle,
                                             ncclDevResourceRequirements_t* requirements);
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t comm, ncclTeam_t team, int nBarriers,
                                             ncclGinBarrierHandle_t* handle,
                                             ncclDevResourceRequirements_t* requirements);
ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t win, size_t offset, int lsaRank, void** ptr);
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t win, size_t offset, int peer, void** ptr);
ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t win, size_t offset,
                                          ncclMultimemHandle_t multimem, void** ptr);
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t win, size_t offset, void** ptr);

// ---- Profiling names, as in pnccl.h ----

extern __typeof__(ncclCommRevoke) pncclCommRevoke;
extern __typeof__(ncclCommGetUniqueId) pncclCommGetUniqueId;
extern __typeof__(ncclCommGrow) pncclCommGrow;
extern __typeof__(ncclCommSuspend) pncclCommSuspend;
extern __typeof__(ncclCommResume) pncclCommResume;
extern __typeof__(ncclCommMemStats) pncclCommMemStats;
extern __typeof__(ncclWinGetUserPtr) pncclWinGetUserPtr;
extern __typeof__(ncclPutSignal) pncclPutSignal;
extern __typeof__(ncclSignal) pncclSignal;
extern __typeof__(ncclWaitSignal) pncclWaitSignal;
extern __typeof__(ncclParamBind) pncclParamBind;
extern __typeof__(ncclParamGetI8) pncclParamGetI8;
extern __typeof__(ncclParamGetI16) pncclParamGetI16;
extern __typeof__(ncclParamGetI32) pncclParamGetI32;
extern __typeof__(ncclParamGetI64) pncclParamGetI64;
extern __typeof__(ncclParamGetU8) pncclParamGetU8;
extern __typeof__(ncclParamGetU16) pncclParamGetU16;
extern __typeof__(ncclParamGetU32) pncclParamGetU32;
extern __typeof__(ncclParamGetU64) pncclParamGetU64;
extern __typeof__(ncclParamGetStr) pncclParamGetStr;
extern __typeof__(ncclParamGet) pncclParamGet;
extern __typeof__(ncclParamGetParameter) pncclParamGetParameter;
extern __typeof__(ncclParamGetAllParameterKeys) pncclParamGetAllParameterKeys;
extern __typeof__(ncclParamDumpAll) pncclParamDumpAll;
extern __typeof__(ncclDevCommCreate) pncclDevCommCreate;
extern __typeof__(ncclDevCommDestroy) pncclDevCommDestroy;
extern __typeof__(ncclCommQueryProperties) pncclCommQueryProperties;
extern __typeof__(ncclTeamWorld) pncclTeamWorld;
extern __typeof__(ncclTeamLsa) pncclTeamLsa;
extern __typeof__(ncclTeamRail) pncclTeamRail;
extern __typeof__(ncclTeamRankToWorld) pncclTeamRankToWorld;
extern __typeof__(ncclTeamRankToLsa) pncclTeamRankToLsa;
extern __typeof__(ncclLLA2ACalcSlots) pncclLLA2ACalcSlots;
extern __typeof__(ncclLLA2ACreateRequirement) pncclLLA2ACreateRequirement;
extern __typeof__(ncclLsaBarrierCreateRequirement) pncclLsaBarrierCreateRequirement;
extern __typeof__(ncclGinBarrierCreateRequirement) pncclGinBarrierCreateRequirement;
extern __typeof__(ncclGetLsaDevicePointer) pncclGetLsaDevicePointer;
extern __typeof__(ncclGetPeerDevicePointer) pncclGetPeerDevicePointer;
extern __typeof__(ncclGetMultimemDevicePointer) pncclGetMultimemDevicePointer;
extern __typeof__(ncclGetLsaMultimemDevicePointer) pncclGetLsaMultimemDevicePointer;

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif  // WEFT_NCCL_2_30_H_
