// The layouts and values that programs compiled against RCCL 2.28.3 have built in. abi_c11.c says
// the same in C. And what the two calls that need no communicator answer.
#include <gtest/gtest.h>
#include <rccl/nccl_2_30.h>
#include <rccl/rccl.h>
#include <rccl/weft.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

static_assert(NCCL_VERSION_CODE == 22803);
static_assert(NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH) == NCCL_VERSION_CODE);
static_assert(NCCL_VERSION(2, 8, 4) == 2804 && NCCL_VERSION(2, 9, 6) == 20906);
static_assert(NCCL_VERSION(2, 30, 7) == 23007);
static_assert(std::string_view(NCCL_SUFFIX).empty());
static_assert(RCCL_BFLOAT16 && RCCL_FLOAT8 && RCCL_GATHER_SCATTER && RCCL_ALLTOALLV &&
              RCCL_ALLREDUCE_WITH_BIAS);
#if defined(NCCL_COMM_DESCRIPTION) || defined(NCCL_COMM_DUMP)
#error "PyTorch would use commDesc or ncclCommDump"
#endif

static_assert(sizeof(ncclUniqueId) == 128 && alignof(ncclUniqueId) == 1);
static_assert(sizeof(((ncclUniqueId*)nullptr)->internal) == NCCL_UNIQUE_ID_BYTES);
static_assert(std::is_trivially_copyable_v<ncclUniqueId>);
static_assert(sizeof(ncclComm_t) == 8 && sizeof(ncclWindow_t) == 8 &&
              sizeof(mscclAlgoHandle_t) == 4);
static_assert(std::is_same_v<ncclWindow_t, struct ncclWindow_vidmem*>);
static_assert(std::is_same_v<ncclComm_t, struct ncclComm*>);

static_assert(sizeof(ncclResult_t) == 4 && sizeof(ncclRedOp_t) == 4 && sizeof(ncclDataType_t) == 4);
static_assert(ncclSuccess == 0 && ncclUnhandledCudaError == 1 && ncclSystemError == 2);
static_assert(ncclInternalError == 3 && ncclInvalidArgument == 4 && ncclInvalidUsage == 5);
static_assert(ncclRemoteError == 6 && ncclInProgress == 7 && ncclNumResults == 8);

static_assert(ncclSum == 0 && ncclProd == 1 && ncclMax == 2 && ncclMin == 3 && ncclAvg == 4);
static_assert(ncclNumOps == 5 && static_cast<int>(ncclNumOps_dummy) == 5);
static_assert(ncclMaxRedOp == 0x7fffffff);

static_assert(ncclInt8 == 0 && ncclChar == 0 && ncclUint8 == 1 && ncclInt32 == 2 && ncclInt == 2);
static_assert(ncclUint32 == 3 && ncclInt64 == 4 && ncclUint64 == 5 && ncclFloat16 == 6);
static_assert(ncclHalf == 6 && ncclFloat32 == 7 && ncclFloat == 7 && ncclFloat64 == 8);
static_assert(ncclDouble == 8 && ncclBfloat16 == 9 && ncclFloat8e4m3 == 10);
static_assert(ncclFloat8e5m2 == 11 && ncclNumTypes == 12);
static_assert(ncclScalarDevice == 0 && ncclScalarHostImmediate == 1);

static_assert(NCCL_CONFIG_UNDEF_INT == INT_MIN && NCCL_SPLIT_NOCOLOR == -1);
static_assert(NCCL_UNDEF_FLOAT == -1.0f && NCCL_WIN_DEFAULT == 0 && NCCL_WIN_COLL_SYMMETRIC == 1);
static_assert(NCCL_WIN_REQUIRED_ALIGNMENT == 4096 && NCCL_CTA_POLICY_DEFAULT == 0);
static_assert(NCCL_CTA_POLICY_EFFICIENCY == 1 && NCCL_CTA_POLICY_ZERO == 2);
static_assert(NCCL_SHRINK_DEFAULT == 0 && NCCL_SHRINK_ABORT == 1);

static_assert(std::is_same_v<ncclConfig_t, struct ncclConfig_v22800> && sizeof(ncclConfig_t) == 80);
static_assert(offsetof(ncclConfig_t, size) == 0 && offsetof(ncclConfig_t, magic) == 8);
static_assert(offsetof(ncclConfig_t, version) == 12 && offsetof(ncclConfig_t, blocking) == 16);
static_assert(offsetof(ncclConfig_t, cgaClusterSize) == 20 &&
              offsetof(ncclConfig_t, minCTAs) == 24);
static_assert(offsetof(ncclConfig_t, maxCTAs) == 28 && offsetof(ncclConfig_t, netName) == 32);
static_assert(offsetof(ncclConfig_t, splitShare) == 40 &&
              offsetof(ncclConfig_t, trafficClass) == 44);
static_assert(offsetof(ncclConfig_t, commName) == 48 &&
              offsetof(ncclConfig_t, collnetEnable) == 56);
static_assert(offsetof(ncclConfig_t, CTAPolicy) == 60 && offsetof(ncclConfig_t, shrinkShare) == 64);
static_assert(offsetof(ncclConfig_t, nvlsCTAs) == 68);
static_assert(offsetof(ncclConfig_t, nChannelsPerNetPeer) == 72);
static_assert(offsetof(ncclConfig_t, nvlinkCentricSched) == 76);

static_assert(std::is_same_v<ncclSimInfo_t, struct ncclSimInfo_v22200>);
static_assert(sizeof(ncclSimInfo_t) == 24 && offsetof(ncclSimInfo_t, size) == 0);
static_assert(offsetof(ncclSimInfo_t, magic) == 8 && offsetof(ncclSimInfo_t, version) == 12);
static_assert(offsetof(ncclSimInfo_t, estimatedTime) == 16);

static_assert(sizeof(ncclWaitSignalDesc_t) == 16 && offsetof(ncclWaitSignalDesc_t, opCnt) == 0);
static_assert(offsetof(ncclWaitSignalDesc_t, peer) == 4 &&
              offsetof(ncclWaitSignalDesc_t, ctx) == 12);
static_assert(ncclStatGpuMemSuspend == 0 && ncclStatGpuMemSuspended == 1);
static_assert(ncclStatGpuMemPersist == 2 && ncclStatGpuMemTotal == 3 && NCCL_SUSPEND_MEM == 1);
static_assert(NCCL_WIN_STRICT_ORDERING == 2 && sizeof(ncclTeam_t) == 12);

extern "C" int abi_c11_check(void);

namespace {

TEST(Abi, TheConfigInitializerLeavesEveryFieldToTheLibrary) {
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(config.size, 80u);
  EXPECT_EQ(config.magic, 0xcafebeefu);
  EXPECT_EQ(config.version, 22803u);
  for (const int field :
       {config.blocking, config.cgaClusterSize, config.minCTAs, config.maxCTAs, config.splitShare,
        config.trafficClass, config.collnetEnable, config.CTAPolicy, config.shrinkShare,
        config.nvlsCTAs, config.nChannelsPerNetPeer, config.nvlinkCentricSched}) {
    EXPECT_EQ(field, INT_MIN);
  }
  EXPECT_EQ(config.netName, nullptr);
  EXPECT_EQ(config.commName, nullptr);
}

TEST(Abi, TheSimInfoInitializerSaysNotEstimated) {
  const ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  EXPECT_EQ(info.size, 24u);
  EXPECT_EQ(info.magic, 0x74685283u);
  EXPECT_EQ(info.version, 22803u);
  EXPECT_EQ(info.estimatedTime, -1.0f);
}

TEST(Abi, CSeesTheSameInterface) { EXPECT_EQ(abi_c11_check(), 0); }

TEST(Abi, BothNamesAreOneFunction) {
  EXPECT_EQ(ncclGetVersion, pncclGetVersion);
  EXPECT_EQ(ncclSend, pncclSend);
  EXPECT_EQ(mscclRunAlgo, pmscclRunAlgo);
}

TEST(Version, IsThatOfTheInterface) {
  int version = -1;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, 22803);
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
}

TEST(Version, OfTheLibraryIsItsOwn) {
  const char* text = nullptr;
  ASSERT_EQ(weftGetVersion(&text), ncclSuccess);
  EXPECT_EQ(std::string(text).rfind("weft ", 0), 0u) << text;
  EXPECT_EQ(weftGetVersion(nullptr), ncclInvalidArgument);
}

TEST(ErrorString, IsRcclsWordByWord) {
  const char* const expected[] = {
      "no error",
      "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
      "unhandled system error (run with NCCL_DEBUG=INFO for details)",
      "internal error - please report this issue to the NCCL developers",
      "invalid argument (run with NCCL_DEBUG=WARN for details)",
      "invalid usage (run with NCCL_DEBUG=WARN for details)",
      "remote process exited or there was a network error",
      "NCCL operation in progress",
  };
  int code = 0;
  for (const char* text : expected) {
    EXPECT_STREQ(ncclGetErrorString(static_cast<ncclResult_t>(code)), text) << code;
    ++code;
  }
  EXPECT_EQ(code, ncclNumResults);
  for (const int unknown : {8, 9, 15, -1}) {
    ncclResult_t result;
    std::memcpy(&result, &unknown, sizeof(result));
    EXPECT_STREQ(ncclGetErrorString(result), "unknown result code") << unknown;
  }
}

}  // namespace
