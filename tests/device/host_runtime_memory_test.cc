// Memory of the host runtime: allocation and its return to the system, attributes, copies, fills.
#include <cstring>
#include <fstream>

#include "host_runtime.h"

namespace {

using host_runtime::eventually;
using host_runtime::launch_wait;
using host_runtime::new_word;

constexpr size_t kMiB = size_t{1} << 20;

uint32_t buffer_id(void* p) {
  uint32_t id = 0;
  EXPECT_EQ(hipSuccess, hipPointerGetAttribute(&id, HIP_POINTER_ATTRIBUTE_BUFFER_ID, p));
  return id;
}

// Shared memory that this process holds resident.
long resident_shared_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long kib = 0;
    if (word == "RssShmem:" && status >> kib) return kib;
  }
  return -1;
}

TEST(HostMemory, AllocatesApartAndAligned) {
  char *a = nullptr, *b = nullptr;
  HIP_OK(hipMalloc(&a, 1000));
  HIP_OK(hipMalloc(&b, 1000));
  EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(a) % 256);
  EXPECT_TRUE(a + 1000 <= b || b + 1000 <= a);
  EXPECT_NE(buffer_id(a), buffer_id(b));
  EXPECT_EQ(buffer_id(a), buffer_id(a + 999));
  HIP_OK(hipFree(a));
  HIP_OK(hipFree(b));
}

TEST(HostMemory, SameAddressGetsNewId) {
  char *a = nullptr, *b = nullptr;
  HIP_OK(hipMalloc(&a, 12345));
  const uint32_t first = buffer_id(a);
  HIP_OK(hipFree(a));
  HIP_OK(hipMalloc(&b, 12345));
  EXPECT_EQ(a, b);
  EXPECT_NE(first, buffer_id(b));
  HIP_OK(hipFree(b));
}

TEST(HostMemory, BadFreesAndSizes) {
  char* a = nullptr;
  HIP_OK(hipMalloc(&a, 4096));
  EXPECT_EQ(hipErrorInvalidValue, hipFree(a + 1));
  int local = 0;
  EXPECT_EQ(hipErrorInvalidValue, hipFree(&local));
  HIP_OK(hipFree(a));
  EXPECT_EQ(hipErrorInvalidValue, hipFree(a));
  HIP_OK(hipFree(nullptr));
  HIP_OK(hipMalloc(&a, 0));
  EXPECT_EQ(nullptr, a);
  EXPECT_EQ(hipErrorOutOfMemory, hipMalloc(&a, size_t{1} << 50));
  EXPECT_EQ(hipErrorOutOfMemory, hipGetLastError());
  EXPECT_EQ(hipSuccess, hipGetLastError());
  EXPECT_EQ(hipErrorInvalidValue, hipExtMallocWithFlags(&a, 64, 0x77));
}

TEST(HostMemory, SparseBeyondFourGiB) {
  char* a = nullptr;
  const size_t bytes = size_t{5} << 30;
  HIP_OK(hipMalloc(&a, bytes));
  a[0] = 1;
  a[bytes - 1] = 2;
  size_t range = 0;
  hipDeviceptr_t base = nullptr;
  HIP_OK(hipMemGetAddressRange(&base, &range, a + bytes / 2));
  EXPECT_EQ(a, base);
  EXPECT_EQ(bytes, range);
  HIP_OK(hipPointerGetAttribute(&range, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, a));
  EXPECT_EQ(bytes, range);
  HIP_OK(hipFree(a));
}

TEST(HostMemory, FreedMemoryIsNotResident) {
  constexpr size_t kBytes = 64 * kMiB;
  const long before = resident_shared_kib();
  ASSERT_GE(before, 0);
  void* big = nullptr;
  HIP_OK(hipMalloc(&big, kBytes));
  HIP_OK(hipMemset(big, 1, kBytes));
  EXPECT_GE(resident_shared_kib() - before, 60 * 1024);
  HIP_OK(hipFree(big));
  EXPECT_LE(resident_shared_kib() - before, 4 * 1024);
  std::vector<void*> small(2048);
  for (void*& p : small) {
    HIP_OK(hipMalloc(&p, 16 * 1024));
    HIP_OK(hipMemset(p, 1, 16 * 1024));
  }
  EXPECT_GE(resident_shared_kib() - before, 30 * 1024);
  for (void* p : small) HIP_OK(hipFree(p));
  EXPECT_LE(resident_shared_kib() - before, 4 * 1024);
}

TEST(HostMemory, InfoCountsWhatIsUsed) {
  size_t free_before = 0, free_after = 0, total = 0;
  HIP_OK(hipMemGetInfo(&free_before, &total));
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, 8 * kMiB));
  HIP_OK(hipMemGetInfo(&free_after, &total));
  EXPECT_GE(free_before - free_after, 8 * kMiB);
  EXPECT_LE(free_before, total);
  HIP_OK(hipFree(p));
  HIP_OK(hipMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_before, free_after);
}

void expect_attributes(const void* p, hipMemoryType type, int device, unsigned flags) {
  hipPointerAttribute_t a;
  ASSERT_EQ(hipSuccess, hipPointerGetAttributes(&a, p));
  EXPECT_EQ(type, a.type);
  EXPECT_EQ(device, a.device);
  EXPECT_EQ(flags, a.allocationFlags);
  EXPECT_EQ(type == hipMemoryTypeManaged, a.isManaged != 0);
  EXPECT_EQ(type == hipMemoryTypeUnregistered ? nullptr : p, a.devicePointer);
  const bool host = type == hipMemoryTypeHost || type == hipMemoryTypeManaged;
  EXPECT_EQ(host ? p : nullptr, a.hostPointer);
}

TEST(HostMemory, AttributesOfEveryKind) {
  char *device = nullptr, *fine = nullptr, *host = nullptr, *managed = nullptr;
  HIP_OK(hipSetDevice(3));
  HIP_OK(hipMalloc(&device, 100));
  HIP_OK(hipExtMallocWithFlags(&fine, 100, hipDeviceMallocFinegrained));
  HIP_OK(hipHostMalloc(&host, 100, hipHostMallocCoherent));
  HIP_OK(hipMallocManaged(&managed, 100));
  std::vector<char> own(100);
  expect_attributes(device + 50, hipMemoryTypeDevice, 3, 0);
  expect_attributes(fine, hipMemoryTypeDevice, 3, hipDeviceMallocFinegrained);
  expect_attributes(host, hipMemoryTypeHost, 3, hipHostMallocCoherent);
  expect_attributes(managed, hipMemoryTypeManaged, 3, hipMemAttachGlobal);
  expect_attributes(own.data(), hipMemoryTypeUnregistered, hipInvalidDeviceId, 0);
  HIP_OK(hipHostRegister(own.data(), own.size(), hipHostRegisterMapped));
  EXPECT_EQ(hipErrorHostMemoryAlreadyRegistered, hipHostRegister(own.data() + 10, 5, 0));
  expect_attributes(own.data() + 99, hipMemoryTypeHost, 3, hipHostRegisterMapped);
  void* mapped = nullptr;
  HIP_OK(hipHostGetDevicePointer(&mapped, own.data(), 0));
  EXPECT_EQ(own.data(), mapped);
  EXPECT_EQ(hipErrorInvalidValue, hipHostGetDevicePointer(&mapped, device, 0));
  HIP_OK(hipHostUnregister(own.data()));
  EXPECT_EQ(hipErrorHostMemoryNotRegistered, hipHostUnregister(own.data()));
  int ordinal = -1;
  HIP_OK(hipPointerGetAttribute(&ordinal, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device));
  EXPECT_EQ(3, ordinal);
  void* start = nullptr;
  HIP_OK(hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 7));
  EXPECT_EQ(device, start);
  EXPECT_EQ(hipErrorNotFound, hipMemGetAddressRange(nullptr, nullptr, own.data()));
  HIP_OK(hipFree(device));
  HIP_OK(hipFree(fine));
  EXPECT_EQ(hipErrorInvalidValue, hipHostFree(fine));
  HIP_OK(hipHostFree(host));
  HIP_OK(hipFree(managed));
  HIP_OK(hipSetDevice(0));
}

TEST(HostMemory, CopiesAndFills) {
  constexpr size_t kCount = 100000;
  std::vector<uint32_t> in(kCount), out(kCount);
  for (size_t i = 0; i < kCount; ++i) in[i] = static_cast<uint32_t>(i * 2654435761u);
  uint32_t *a = nullptr, *b = nullptr;
  HIP_OK(hipMalloc(&a, kCount * 4));
  HIP_OK(hipSetDevice(1));
  HIP_OK(hipMalloc(&b, kCount * 4));
  HIP_OK(hipSetDevice(0));
  hipStream_t s = nullptr;
  HIP_OK(hipStreamCreate(&s));
  HIP_OK(hipMemcpyAsync(a, in.data(), kCount * 4, hipMemcpyHostToDevice, s));
  HIP_OK(hipMemcpyPeerAsync(b, 1, a, 0, kCount * 4, s));
  HIP_OK(hipMemcpyAsync(out.data(), b, kCount * 4, hipMemcpyDeviceToHost, s));
  HIP_OK(hipStreamSynchronize(s));
  EXPECT_EQ(in, out);
  HIP_OK(hipMemsetD32(a, 0x01020304, kCount));
  HIP_OK(hipMemcpy(out.data(), a, kCount * 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(0x01020304u, out[0]);
  EXPECT_EQ(0x01020304u, out[kCount - 1]);
  HIP_OK(hipMemsetD16Async(a, 0xabcd, 3, s));
  HIP_OK(hipMemsetAsync(a + 10, 0x5a, 5, s));
  HIP_OK(hipStreamSynchronize(s));
  EXPECT_EQ(0xabcdabcdu, a[0]);
  EXPECT_EQ(0x0102abcdu, a[1]);
  EXPECT_EQ(0x5a5a5a5au, a[10]);
  EXPECT_EQ(0x0102035au, a[11]);
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(a + 1, in.data(), kCount * 4, hipMemcpyDefault));
  EXPECT_EQ(hipErrorInvalidValue, hipMemset(a, 0, kCount * 4 + 1));
  EXPECT_EQ(hipErrorInvalidMemcpyDirection, hipMemcpy(a, b, 4, static_cast<hipMemcpyKind>(9)));
  HIP_OK(hipStreamDestroy(s));
  HIP_OK(hipFree(a));
  HIP_OK(hipFree(b));
}

TEST(HostMemory, StreamOrderedFree) {
  hipStream_t s = nullptr;
  uint64_t *gate = new_word(), *p = nullptr;
  HIP_OK(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
  HIP_OK(hipMallocAsync(&p, 64, s));
  HIP_OK(launch_wait(s, {gate, 1, p, 9}));
  HIP_OK(hipFreeAsync(p, s));
  hipPointerAttribute_t a;
  HIP_OK(hipPointerGetAttributes(&a, p));
  EXPECT_EQ(hipMemoryTypeDevice, a.type);  // the kernel before the free still waits
  host_runtime::set(gate, 1);
  HIP_OK(hipStreamSynchronize(s));
  HIP_OK(hipPointerGetAttributes(&a, p));
  EXPECT_EQ(hipMemoryTypeUnregistered, a.type);
  HIP_OK(hipStreamDestroy(s));
  HIP_OK(hipFree(gate));
}

struct FreeArgs {
  const uint64_t* gate;
  const uint64_t* freed;
  uint64_t* seen;
};
void look_whether_freed(const void* p) {
  const FreeArgs& a = *static_cast<const FreeArgs*>(p);
  host_runtime::wait_until(a.gate, 1);
  constexpr int kLooks = 20000;  // time for a free that does not wait to return
  for (int i = 0; i < kLooks; ++i) {
    hipHostPollMiss(a.freed);
    hipHostPollHit();
  }
  *a.seen = 1 + __atomic_load_n(a.freed, __ATOMIC_ACQUIRE);
}
const hipHostKernel kLookWhetherFreed = {hipHostKernelMagic, "look_whether_freed",
                                         &look_whether_freed, sizeof(FreeArgs), 1};

TEST(HostMemory, FreeWaitsForTheDevice) {
  uint64_t *gate = new_word(), *freed = new_word(1), *seen = new_word(1);
  void* victim = nullptr;
  hipStream_t s = nullptr;
  HIP_OK(hipMalloc(&victim, 4096));
  HIP_OK(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
  FreeArgs fa{gate, freed, seen};
  void* args[] = {&fa};
  HIP_OK(hipLaunchKernel(&kLookWhetherFreed, dim3(1), dim3(1), args, 0, s));
  std::thread other([&] {
    host_runtime::set(gate, 1);
    EXPECT_EQ(hipSuccess, hipFree(victim));
    __atomic_store_n(freed, 1, __ATOMIC_RELEASE);
  });
  other.join();
  HIP_OK(hipStreamSynchronize(s));
  EXPECT_EQ(1u, *seen);
  HIP_OK(hipStreamDestroy(s));
  for (uint64_t* w : {gate, freed, seen}) HIP_OK(hipFree(w));
}

TEST(HostMemory, VirtualMemoryManagementIsNotThere) {
  size_t bytes = 0;
  int value = 1;
  EXPECT_EQ(hipErrorNotSupported,
            hipMemGetAllocationGranularity(&bytes, nullptr, hipMemAllocationGranularityMinimum));
  HIP_OK(hipDeviceGetAttribute(&value, hipDeviceAttributeVirtualMemoryManagementSupported, 0));
  EXPECT_EQ(0, value);
}

}  // namespace
