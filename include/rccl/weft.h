// What this library exports beyond NCCL's interface: RCCL's functions that rccl.h leaves out, and
// our own. Owns: rccl... and weft... functions; they have no profiling names.
// The rules at the top of rccl.h hold.
#ifndef WEFT_WEFT_H_
#define WEFT_WEFT_H_

#include <rccl/rccl.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

// Stores the name and version of this library, such as "weft 0.1.0": what ncclGetVersion, which
// names an interface, cannot say. The text is never freed. NULL: ncclInvalidArgument.
// Threads: any thread, any time.
ncclResult_t weftGetVersion(const char** text);

// Store the name of an algorithm or protocol that rcclGetAlgoInfo answered; never freed. Errors:
// ncclInvalidArgument for NULL or an id that names nothing. Threads: any thread, any time.
ncclResult_t rcclGetAlgoName(int algo, const char** algoName);
ncclResult_t rcclGetProtocolName(int protocol, const char** protocolName);

// What the library would take for `count` elements of collective `coll`: 0 broadcast, 1 reduce,
// 2 all-gather, 3 reduce-scatter, 4 all-reduce. Stores an algorithm, a protocol and the most
// channels that it uses. The three numbers about what the network can do are not looked at. RCCL
// declares `coll` as an enum of the same width. Errors: ncclInvalidArgument for NULL, another
// `coll`, no type. Threads: any thread.
ncclResult_t rcclGetAlgoInfo(ncclComm_t comm, int coll, uint64_t count, ncclDataType_t datatype,
                             int collNetSupport, int nvlsSupport, int numPipeOps, int* algo,
                             int* protocol, int* maxChannels);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif  // WEFT_WEFT_H_
