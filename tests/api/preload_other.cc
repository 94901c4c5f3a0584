// The librccl.so.1 that preload_program was linked to, in the place of AMD's: it refuses.
#include <rccl/rccl.h>

#include <cstdio>

extern "C" {
ncclResult_t ncclCommInitAll(ncclComm_t*, int, const int*) {
  std::puts("the other library was called");
  return ncclInternalError;
}
ncclResult_t ncclGroupStart() { return ncclInternalError; }
ncclResult_t ncclGroupEnd() { return ncclInternalError; }
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                           hipStream_t) {
  return ncclInternalError;
}
ncclResult_t ncclCommDestroy(ncclComm_t) { return ncclInternalError; }
}
