// Every function that this version exports and refuses: never success, never silent, no output
// touched. An issue that implements a function removes its row here.
#include <gtest/gtest.h>

#include <string>

#include "api_name.h"
#include "last_error.h"

namespace {

template <class R, class... Args>
R call_with_zeros(R (*function)(Args...)) {
  return function(Args{}...);
}

struct Refused {
  const char* name;
  ncclResult_t (*call)();
};

#define ROW(name)                               \
  Refused {                                     \
#name, [] { return call_with_zeros(name); } \
  }

const Refused kRefused[] = {
    ROW(ncclCommShrink),
    ROW(ncclCommRevoke),
    ROW(ncclCommGetUniqueId),
    ROW(ncclCommGrow),
    ROW(ncclCommSuspend),
    ROW(ncclCommResume),
    ROW(ncclCommMemStats),
    ROW(ncclWinGetUserPtr),
    ROW(ncclPutSignal),
    ROW(ncclSignal),
    ROW(ncclWaitSignal),
    ROW(ncclParamBind),
    ROW(ncclParamGetI8),
    ROW(ncclParamGetI16),
    ROW(ncclParamGetI32),
    ROW(ncclParamGetI64),
    ROW(ncclParamGetU8),
    ROW(ncclParamGetU16),
    ROW(ncclParamGetU32),
    ROW(ncclParamGetU64),
    ROW(ncclParamGetStr),
    ROW(ncclParamGet),
    ROW(ncclParamGetParameter),
    ROW(ncclParamGetAllParameterKeys),
    ROW(ncclDevCommCreate),
    ROW(ncclDevCommDestroy),
    ROW(ncclCommQueryProperties),
    ROW(ncclLLA2ACreateRequirement),
    ROW(ncclLsaBarrierCreateRequirement),
    ROW(ncclGinBarrierCreateRequirement),
    ROW(ncclGetLsaDevicePointer),
    ROW(ncclGetPeerDevicePointer),
    ROW(ncclGetMultimemDevicePointer),
    ROW(ncclGetLsaMultimemDevicePointer),
};
#undef ROW

std::string refusal_of(const std::string& name) { return name + ": not available in this version"; }

TEST(Unavailable, ReturnsInvalidUsageAndSaysWhich) {
  for (const Refused& refused : kRefused) {
    weft::set_last_error("before");
    EXPECT_EQ(refused.call(), ncclInvalidUsage) << refused.name;
    EXPECT_EQ(weft::last_error(), refusal_of(refused.name));
  }
}

TEST(Unavailable, ThoseThatReturnNoCodeSayItToo) {
  EXPECT_EQ(ncclTeamWorld(nullptr).nRanks, 0);
  EXPECT_EQ(weft::last_error(), refusal_of("ncclTeamWorld"));
  EXPECT_EQ(ncclTeamLsa(nullptr).nRanks, 0);
  EXPECT_EQ(ncclTeamRail(nullptr).nRanks, 0);
  EXPECT_EQ(ncclTeamRankToWorld(nullptr, {}, 3), 0);
  EXPECT_EQ(ncclTeamRankToLsa(nullptr, {}, 3), 0);
  EXPECT_EQ(ncclLLA2ACalcSlots(1, 1), 0);
  EXPECT_EQ(weft::last_error(), refusal_of("ncclLLA2ACalcSlots"));
  ncclParamDumpAll();
  EXPECT_EQ(weft::last_error(), refusal_of("ncclParamDumpAll"));
}

TEST(Unavailable, LeavesOutputsAlone) {
  int marker = 0;
  const auto untouched = reinterpret_cast<ncclComm_t>(&marker);
  ncclComm_t child = untouched;
  EXPECT_EQ(ncclCommShrink(nullptr, nullptr, 0, &child, nullptr, 0), ncclInvalidUsage);
  EXPECT_EQ(child, untouched);
}

}  // namespace
