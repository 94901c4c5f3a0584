// A small HIP program as somebody else would write it for RCCL: a kernel fills a buffer on each
// device, a stream each, one AllReduce of all. It is linked to another librccl.so.1
// (preload_other.cc); README.md says how ours is preloaded.
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                                     \
  do {                                                                  \
    if (const auto state = (call); static_cast<int>(state) != 0) {      \
      std::fprintf(stderr, "%s: %d\n", #call, static_cast<int>(state)); \
      return 1;                                                         \
    }                                                                   \
  } while (0)

constexpr int kDevices = 4;
constexpr size_t kCount = 100'000;

__global__ void fill(float* data, size_t count, float value) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) data[i] = value;
}

int main() {
  ncclComm_t comms[kDevices];
  hipStream_t streams[kDevices];
  float* data[kDevices];
  CHECK(ncclCommInitAll(comms, kDevices, nullptr));
  for (int device = 0; device < kDevices; ++device) {
    CHECK(hipSetDevice(device));
    CHECK(hipStreamCreate(&streams[device]));
    CHECK(hipMalloc(&data[device], kCount * sizeof(float)));
    hipLaunchKernelGGL(fill, dim3((kCount + 255) / 256), dim3(256), 0, streams[device],
                       data[device], kCount, float(device + 1));
    CHECK(hipGetLastError());
  }
  CHECK(ncclGroupStart());
  for (int device = 0; device < kDevices; ++device)
    CHECK(ncclAllReduce(data[device], data[device], kCount, ncclFloat, ncclSum, comms[device],
                        streams[device]));
  CHECK(ncclGroupEnd());
  for (int device = 0; device < kDevices; ++device) {
    std::vector<float> host(kCount);
    CHECK(hipSetDevice(device));
    CHECK(hipStreamSynchronize(streams[device]));
    CHECK(hipMemcpy(host.data(), data[device], kCount * sizeof(float), hipMemcpyDeviceToHost));
    for (const float value : host)
      if (value != float(kDevices * (kDevices + 1) / 2)) return 2;
    CHECK(hipFree(data[device]));
    CHECK(hipStreamDestroy(streams[device]));
  }
  for (const ncclComm_t comm : comms) CHECK(ncclCommDestroy(comm));
  std::puts("sums are right");
  return 0;
}
