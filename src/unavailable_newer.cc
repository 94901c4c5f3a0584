// Functions of NCCL 2.28.7 to 2.30.7 that this version exports and refuses
// (include/rccl/nccl_2_30.h). As unavailable.cc.
#include "api_name.h"
#include "unavailable.h"

using weft::unavailable;

WEFT_API(ncclCommRevoke)
ncclResult_t ncclCommRevoke(ncclComm_t, int) { return unavailable(__func__); }

WEFT_API(ncclCommGetUniqueId)
ncclResult_t ncclCommGetUniqueId(ncclComm_t, ncclUniqueId*) { return unavailable(__func__); }

WEFT_API(ncclCommGrow)
ncclResult_t ncclCommGrow(ncclComm_t, int, const ncclUniqueId*, int, ncclComm_t*, ncclConfig_t*) {
  return unavailable(__func__);
}

WEFT_API(ncclCommSuspend)
ncclResult_t ncclCommSuspend(ncclComm_t, int) { return unavailable(__func__); }

WEFT_API(ncclCommResume)
ncclResult_t ncclCommResume(ncclComm_t) { return unavailable(__func__); }

WEFT_API(ncclCommMemStats)
ncclResult_t ncclCommMemStats(ncclComm_t, ncclCommMemStat_t, uint64_t*) {
  return unavailable(__func__);
}

WEFT_API(ncclWinGetUserPtr)
ncclResult_t ncclWinGetUserPtr(ncclComm_t, ncclWindow_t, void**) { return unavailable(__func__); }

WEFT_API(ncclPutSignal)
ncclResult_t ncclPutSignal(const void*, size_t, ncclDataType_t, int, ncclWindow_t, size_t, int, int,
                           unsigned int, ncclComm_t, hipStream_t) {
  return unavailable(__func__);
}

WEFT_API(ncclSignal)
ncclResult_t ncclSignal(int, int, int, unsigned int, ncclComm_t, hipStream_t) {
  return unavailable(__func__);
}

WEFT_API(ncclWaitSignal)
ncclResult_t ncclWaitSignal(int, ncclWaitSignalDesc_t*, ncclComm_t, hipStream_t) {
  return unavailable(__func__);
}

WEFT_API(ncclParamBind)
ncclResult_t ncclParamBind(ncclParamHandle_t*, const char*) { return unavailable(__func__); }

WEFT_API(ncclParamGetI8)
ncclResult_t ncclParamGetI8(ncclParamHandle_t, int8_t*) { return unavailable(__func__); }

WEFT_API(ncclParamGetI16)
ncclResult_t ncclParamGetI16(ncclParamHandle_t, int16_t*) { return unavailable(__func__); }

WEFT_API(ncclParamGetI32)
ncclResult_t ncclParamGetI32(ncclParamHandle_t, int32_t*) { return unavailable(__func__); }

WEFT_API(ncclParamGetI64)
ncclResult_t ncclParamGetI64(ncclParamHandle_t, int64_t*) { return unavailable(__func__); }

WEFT_API(ncclParamGetU8)
ncclResult_t ncclParamGetU8(ncclParamHandle_t, uint8_t*) { return unavailable(__func__); }

WEFT_API(ncclParamGetU16)
ncclResult_t ncclParamGetU16(ncclParamHandle_t, uint16_t*) { return unavailable(__func__); }

WEFT_API(ncclParamGetU32)
ncclResult_t ncclParamGetU32(ncclParamHandle_t, uint32_t*) { return unavailable(__func__); }

WEFT_API(ncclParamGetU64)
ncclResult_t ncclParamGetU64(ncclParamHandle_t, uint64_t*) { return unavailable(__func__); }

WEFT_API(ncclParamGetStr)
ncclResult_t ncclParamGetStr(ncclParamHandle_t, const char**) { return unavailable(__func__); }

WEFT_API(ncclParamGet)
ncclResult_t ncclParamGet(ncclParamHandle_t, void*, int, int*) { return unavailable(__func__); }

WEFT_API(ncclParamGetParameter)
ncclResult_t ncclParamGetParameter(const char*, const char**, int*) {
  return unavailable(__func__);
}

WEFT_API(ncclParamGetAllParameterKeys)
ncclResult_t ncclParamGetAllParameterKeys(const char***, int*) { return unavailable(__func__); }

WEFT_API(ncclParamDumpAll)
void ncclParamDumpAll() { unavailable(__func__); }

WEFT_API(ncclDevCommCreate)
ncclResult_t ncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements_t*, ncclDevComm_t*) {
  return unavailable(__func__);
}

WEFT_API(ncclDevCommDestroy)
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm_t*) { return unavailable(__func__); }

WEFT_API(ncclCommQueryProperties)
ncclResult_t ncclCommQueryProperties(ncclComm_t, ncclCommProperties_t*) {
  return unavailable(__func__);
}

WEFT_API(ncclTeamWorld)
ncclTeam_t ncclTeamWorld(ncclComm_t) { return unavailable(__func__), ncclTeam_t{}; }

WEFT_API(ncclTeamLsa)
ncclTeam_t ncclTeamLsa(ncclComm_t) { return unavailable(__func__), ncclTeam_t{}; }

WEFT_API(ncclTeamRail)
ncclTeam_t ncclTeamRail(ncclComm_t) { return unavailable(__func__), ncclTeam_t{}; }

WEFT_API(ncclTeamRankToWorld)
int ncclTeamRankToWorld(ncclComm_t, ncclTeam_t, int) { return unavailable(__func__), 0; }

WEFT_API(ncclTeamRankToLsa)
int ncclTeamRankToLsa(ncclComm_t, ncclTeam_t, int) { return unavailable(__func__), 0; }

WEFT_API(ncclLLA2ACalcSlots)
int ncclLLA2ACalcSlots(int, int) { return unavailable(__func__), 0; }

WEFT_API(ncclLLA2ACreateRequirement)
ncclResult_t ncclLLA2ACreateRequirement(int, int, ncclLLA2AHandle_t*,
                                        ncclDevResourceRequirements_t*) {
  return unavailable(__func__);
}

WEFT_API(ncclLsaBarrierCreateRequirement)
ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t, int, ncclLsaBarrierHandle_t*,
                                             ncclDevResourceRequirements_t*) {
  return unavailable(__func__);
}

WEFT_API(ncclGinBarrierCreateRequirement)
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t, ncclTeam_t, int, ncclGinBarrierHandle_t*,
                                             ncclDevResourceRequirements_t*) {
  return unavailable(__func__);
}

WEFT_API(ncclGetLsaDevicePointer)
ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t, size_t, int, void**) {
  return unavailable(__func__);
}

WEFT_API(ncclGetPeerDevicePointer)
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t, size_t, int, void**) {
  return unavailable(__func__);
}

WEFT_API(ncclGetMultimemDevicePointer)
ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t, size_t, ncclMultimemHandle_t, void**) {
  return unavailable(__func__);
}

WEFT_API(ncclGetLsaMultimemDevicePointer)
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t, size_t, void**) {
  return unavailable(__func__);
}
