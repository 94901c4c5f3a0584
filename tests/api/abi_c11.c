/* The interface as a C11 program sees it; abi_test.cc has the same facts in C++ and calls
 * abi_c11_check. */
#include <nccl.h>
#include <rccl/nccl_2_30.h>
#include <rccl/weft.h>
#include <string.h>

_Static_assert(sizeof(ncclUniqueId) == 128, "id");
_Static_assert(sizeof(ncclResult_t) == 4 && sizeof(ncclRedOp_t) == 4 && sizeof(ncclDataType_t) == 4,
               "enums");
_Static_assert(sizeof(ncclScalarResidence_t) == 4 && sizeof(mscclAlgoHandle_t) == 4, "enums");
_Static_assert(ncclSuccess == 0 && ncclInvalidArgument == 4 && ncclInProgress == 7 &&
                   ncclNumResults == 8,
               "results");
_Static_assert(ncclMax == 2 && ncclMin == 3 && ncclAvg == 4 && ncclNumOps == 5 &&
                   ncclMaxRedOp == 0x7fffffff,
               "ops");
_Static_assert(ncclBfloat16 == 9 && ncclFloat8e4m3 == 10 && ncclFloat8e5m2 == 11 &&
                   ncclNumTypes == 12,
               "types");
_Static_assert(sizeof(ncclConfig_t) == 80 && sizeof(struct ncclConfig_v22800) == 80, "config");
_Static_assert(offsetof(ncclConfig_t, size) == 0 && offsetof(ncclConfig_t, magic) == 8, "config");
_Static_assert(offsetof(ncclConfig_t, version) == 12 && offsetof(ncclConfig_t, blocking) == 16,
               "config");
_Static_assert(offsetof(ncclConfig_t, cgaClusterSize) == 20 &&
                   offsetof(ncclConfig_t, minCTAs) == 24,
               "config");
_Static_assert(offsetof(ncclConfig_t, maxCTAs) == 28 && offsetof(ncclConfig_t, netName) == 32,
               "config");
_Static_assert(offsetof(ncclConfig_t, splitShare) == 40 &&
                   offsetof(ncclConfig_t, trafficClass) == 44,
               "config");
_Static_assert(offsetof(ncclConfig_t, commName) == 48 &&
                   offsetof(ncclConfig_t, collnetEnable) == 56,
               "config");
_Static_assert(offsetof(ncclConfig_t, CTAPolicy) == 60 && offsetof(ncclConfig_t, shrinkShare) == 64,
               "config");
_Static_assert(offsetof(ncclConfig_t, nvlsCTAs) == 68 &&
                   offsetof(ncclConfig_t, nChannelsPerNetPeer) == 72,
               "config");
_Static_assert(offsetof(ncclConfig_t, nvlinkCentricSched) == 76, "config");
_Static_assert(sizeof(ncclSimInfo_t) == 24 && offsetof(ncclSimInfo_t, estimatedTime) == 16,
               "sim info");
_Static_assert(sizeof(ncclWaitSignalDesc_t) == 16 && sizeof(ncclTeam_t) == 12, "newer");

int abi_c11_check(void);

/* 0 when the initializers and a call work from C. */
int abi_c11_check(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  ncclComm_t none = NCCL_COMM_NULL;
  int version = 0;
  if (none != NULL) return 1;
  if (config.size != sizeof(config) || config.magic != 0xcafebeef || config.version != 22803)
    return 2;
  if (config.blocking != INT_MIN || config.nvlinkCentricSched != INT_MIN || config.commName != NULL)
    return 3;
  if (info.size != 24 || info.magic != 0x74685283 || info.estimatedTime != NCCL_UNDEF_FLOAT)
    return 4;
  if (ncclGetVersion(&version) != ncclSuccess || version != NCCL_VERSION_CODE) return 5;
  return strcmp(ncclGetErrorString(ncclSuccess), "no error") == 0 ? 0 : 6;
}
