// The profiling names: every function ncclX of rccl.h under a second name pncclX. A tool that
// defines ncclX itself calls the library through pncclX. Owns: one line a function. Contracts are
// those of ncclX. Included by rccl.h, not by programs.
#ifndef WEFT_PNCCL_H_
#define WEFT_PNCCL_H_

#pragma GCC visibility push(default)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // ncclResetDebugInit has a twin too
#ifdef __cplusplus
extern "C" {
#endif

extern __typeof__(ncclGetVersion) pncclGetVersion;
extern __typeof__(ncclGetErrorString) pncclGetErrorString;
extern __typeof__(ncclGetLastError) pncclGetLastError;
extern __typeof__(ncclResetDebugInit) pncclResetDebugInit;
extern __typeof__(ncclMemAlloc) pncclMemAlloc;
extern __typeof__(ncclMemFree) pncclMemFree;
extern __typeof__(ncclGetUniqueId) pncclGetUniqueId;
extern __typeof__(ncclCommInitRank) pncclCommInitRank;
extern __typeof__(ncclCommInitRankConfig) pncclCommInitRankConfig;
extern __typeof__(ncclCommInitRankScalable) pncclCommInitRankScalable;
extern __typeof__(ncclCommInitAll) pncclCommInitAll;
extern __typeof__(ncclCommFinalize) pncclCommFinalize;
extern __typeof__(ncclCommDestroy) pncclCommDestroy;
extern __typeof__(ncclCommAbort) pncclCommAbort;
extern __typeof__(ncclCommGetAsyncError) pncclCommGetAsyncError;
extern __typeof__(ncclCommCount) pncclCommCount;
extern __typeof__(ncclCommCuDevice) pncclCommCuDevice;
extern __typeof__(ncclCommUserRank) pncclCommUserRank;
extern __typeof__(ncclCommSplit) pncclCommSplit;
extern __typeof__(ncclCommShrink) pncclCommShrink;
extern __typeof__(ncclCommRegister) pncclCommRegister;
extern __typeof__(ncclCommDeregister) pncclCommDeregister;
extern __typeof__(ncclCommWindowRegister) pncclCommWindowRegister;
extern __typeof__(ncclCommWindowDeregister) pncclCommWindowDeregister;
extern __typeof__(ncclRedOpCreatePreMulSum) pncclRedOpCreatePreMulSum;
extern __typeof__(ncclRedOpDestroy) pncclRedOpDestroy;
extern __typeof__(ncclAllReduce) pncclAllReduce;
extern __typeof__(ncclAllReduceWithBias) pncclAllReduceWithBias;
extern __typeof__(ncclReduce) pncclReduce;
extern __typeof__(ncclBroadcast) pncclBroadcast;
extern __typeof__(ncclBcast) pncclBcast;
extern __typeof__(ncclReduceScatter) pncclReduceScatter;
extern __typeof__(ncclAllGather) pncclAllGather;
extern __typeof__(ncclAlltoAll) pncclAlltoAll;
extern __typeof__(ncclAllToAll) pncclAllToAll;
extern __typeof__(ncclAlltoAllv) pncclAlltoAllv;
extern __typeof__(ncclAllToAllv) pncclAllToAllv;
extern __typeof__(ncclGather) pncclGather;
extern __typeof__(ncclScatter) pncclScatter;
extern __typeof__(ncclSend) pncclSend;
extern __typeof__(ncclRecv) pncclRecv;
extern __typeof__(ncclGroupStart) pncclGroupStart;
extern __typeof__(ncclGroupEnd) pncclGroupEnd;
extern __typeof__(ncclGroupSimulateEnd) pncclGroupSimulateEnd;
extern __typeof__(mscclLoadAlgo) pmscclLoadAlgo;
extern __typeof__(mscclRunAlgo) pmscclRunAlgo;
extern __typeof__(mscclUnloadAlgo) pmscclUnloadAlgo;

#ifdef __cplusplus
}
#endif
#pragma GCC diagnostic pop
#pragma GCC visibility pop

#endif  // WEFT_PNCCL_H_
