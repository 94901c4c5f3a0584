#include <nccl.h>
#include <string.h>

int main(void) {
  int version = 0;
  if (pncclGetVersion(&version) != ncclSuccess || version != NCCL_VERSION_CODE) return 1;
  return strcmp(ncclGetErrorString(ncclSuccess), "no error") != 0;
}
