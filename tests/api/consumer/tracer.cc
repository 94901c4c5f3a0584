// A tracer: takes a public name for itself and goes on through the profiling name.
#include <rccl/rccl.h>

namespace {
int calls = 0;
}

ncclResult_t ncclGetVersion(int* version) {
  ++calls;
  return pncclGetVersion(version);
}

int main() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess || version != NCCL_VERSION_CODE) return 1;
  return calls == 1 ? 0 : 2;
}
