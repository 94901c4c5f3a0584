// Devices of the host runtime: identity, attributes, peers, errors of the thread; and that the
// headers serve C and half floats.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

#include <cmath>
#include <cstring>
#include <set>

#include "host_runtime.h"

extern "C" int host_runtime_use_from_c(void);

namespace {

TEST(HostDevice, CountNameArchitecture) {
  int count = 0;
  HIP_OK(hipGetDeviceCount(&count));
  EXPECT_EQ(8, count);
  hipDeviceProp_t p;
  HIP_OK(hipGetDeviceProperties(&p, 0));
  EXPECT_STREQ("AMD Instinct MI300X (simulated)", p.name);
  EXPECT_EQ(0, strncmp("gfx942", p.gcnArchName, 6));
  EXPECT_EQ(64, p.warpSize);
  EXPECT_EQ(304, p.multiProcessorCount);
  int value = 0;
  HIP_OK(hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0));
  EXPECT_EQ(304, value);
  EXPECT_EQ(hipErrorInvalidDevice, hipGetDeviceProperties(&p, 8));
  EXPECT_EQ(hipErrorInvalidDevice, hipSetDevice(-1));
  EXPECT_EQ(hipErrorInvalidValue, hipGetDeviceCount(nullptr));
}

TEST(HostDevice, BusIdsAndUuidsAreDistinct) {
  std::set<std::string> buses, uuids;
  for (int i = 0; i < 8; ++i) {
    char bus[32];
    hipUUID uuid;
    HIP_OK(hipDeviceGetPCIBusId(bus, sizeof bus, i));
    HIP_OK(hipDeviceGetUuid(&uuid, i));
    buses.insert(bus);
    uuids.insert(std::string(uuid.bytes, sizeof uuid.bytes));
    int back = -1;
    HIP_OK(hipDeviceGetByPCIBusId(&back, bus));
    EXPECT_EQ(i, back);
  }
  EXPECT_EQ(8u, buses.size());
  EXPECT_EQ(8u, uuids.size());
  int device = 0;
  EXPECT_EQ(hipErrorInvalidValue, hipDeviceGetByPCIBusId(&device, "ffff:ff:1f.0"));
}

TEST(HostDevice, IdentityAgreesBetweenProcesses) {
  int status = 0;
  const std::string one = host_runtime::run_role({"identity"}, {}, &status);
  EXPECT_EQ(0, status);
  const std::string two = host_runtime::run_role({"identity"}, {}, &status);
  EXPECT_EQ(one, two);
  hipUUID uuid;
  HIP_OK(hipDeviceGetUuid(&uuid, 0));
  EXPECT_EQ(std::string(uuid.bytes, sizeof uuid.bytes), one.substr(0, sizeof uuid.bytes));
  // A process that sees only devices 3 and 1 knows them by the same identity.
  const std::string some =
      host_runtime::run_role({"identity"}, {"HIP_VISIBLE_DEVICES=3,1"}, &status);
  std::vector<std::string> all;
  for (size_t at = 0, end = 0; (end = one.find(';', at)) != std::string::npos; at = end + 1) {
    all.push_back(one.substr(at, end - at));
  }
  ASSERT_EQ(8u, all.size());
  EXPECT_EQ(all[3] + ";" + all[1] + ";", some);
}

TEST(HostDevice, OtherArchitecturesAndCounts) {
  int status = 0;
  const std::string text = host_runtime::run_role(
      {"identity"}, {"WEFT_HOST_ARCH=gfx1100", "WEFT_HOST_DEVICES=2"}, &status);
  EXPECT_EQ(2, std::count(text.begin(), text.end(), ';'));
  EXPECT_NE(std::string::npos, text.find("gfx1100 32;"));
  const std::string none = host_runtime::run_role({"identity"}, {"WEFT_HOST_DEVICES=0"}, &status);
  EXPECT_NE(std::string::npos, none.find("hipErrorNoDevice"));
}

TEST(HostDevice, CurrentDeviceIsPerThread) {
  HIP_OK(hipSetDevice(5));
  int mine = -1, other = -1;
  std::thread([&] { EXPECT_EQ(hipSuccess, hipGetDevice(&other)); }).join();
  HIP_OK(hipGetDevice(&mine));
  EXPECT_EQ(5, mine);
  EXPECT_EQ(0, other);
  HIP_OK(hipSetDevice(0));
}

TEST(HostDevice, PeerAccess) {
  int can = 0;
  HIP_OK(hipDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(1, can);
  HIP_OK(hipDeviceCanAccessPeer(&can, 2, 2));
  EXPECT_EQ(0, can);
  EXPECT_EQ(hipErrorInvalidDevice, hipDeviceCanAccessPeer(&can, 0, 8));
  EXPECT_EQ(hipErrorPeerAccessNotEnabled, hipDeviceDisablePeerAccess(1));
  HIP_OK(hipDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(hipErrorPeerAccessAlreadyEnabled, hipDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(hipErrorInvalidValue, hipDeviceEnablePeerAccess(2, 1));
  HIP_OK(hipDeviceDisablePeerAccess(1));
  (void)hipGetLastError();
}

TEST(HostDevice, LastErrorIsKeptPerThread) {
  (void)hipGetLastError();
  EXPECT_EQ(hipErrorInvalidDevice, hipSetDevice(99));
  int device = 0;
  HIP_OK(hipGetDevice(&device));  // success does not clear it
  std::thread([] { EXPECT_EQ(hipSuccess, hipPeekAtLastError()); }).join();
  EXPECT_EQ(hipErrorInvalidDevice, hipPeekAtLastError());
  EXPECT_EQ(hipErrorInvalidDevice, hipGetLastError());
  EXPECT_EQ(hipSuccess, hipGetLastError());
}

TEST(HostDevice, ErrorTexts) {
  EXPECT_STREQ("hipErrorStreamCaptureIsolation", hipGetErrorName(hipErrorStreamCaptureIsolation));
  EXPECT_STREQ("invalid device ordinal", hipGetErrorString(hipErrorInvalidDevice));
  EXPECT_STREQ("no error", hipGetErrorString(hipSuccess));
  EXPECT_STREQ("unknown error", hipGetErrorString(static_cast<hipError_t>(4711)));
  EXPECT_EQ(905, hipErrorStreamCaptureIsolation);
  EXPECT_EQ(719, hipErrorLaunchFailure);
}

TEST(HostDevice, PropertyLayoutIsHip6s) {
  EXPECT_EQ(1472u, sizeof(hipDeviceProp_t));
  EXPECT_EQ(1160u, offsetof(hipDeviceProp_t, gcnArchName));
}

TEST(HostDevice, HeadersServeC) { EXPECT_EQ(0, host_runtime_use_from_c()); }

TEST(HostDevice, HalfRoundsToNearestEven) {
  EXPECT_EQ(0x3c00, __float2half(1.0f).x);
  EXPECT_EQ(0x7bff, __float2half(65519.0f).x);
  EXPECT_EQ(0x7c00, __float2half(65520.0f).x);
  EXPECT_EQ(0x6800, __float2half(2048.0f + 0.5f).x);
  EXPECT_EQ(0x6801, __float2half(2050.0f).x);
  EXPECT_EQ(0x6800, __float2half(2049.0f).x);
  EXPECT_EQ(0x0001, __float2half(std::ldexp(1.0f, -24)).x);
  EXPECT_EQ(0x0000, __float2half(std::ldexp(1.0f, -25)).x);
  EXPECT_EQ(0x0400, __float2half(std::ldexp(1.0f, -14)).x);
  EXPECT_TRUE(std::isnan(__half2float(__float2half(NAN))));
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    __half h;
    h.x = static_cast<uint16_t>(bits);
    ASSERT_EQ(bits, __float2half(__half2float(h)).x);
  }
  EXPECT_EQ(0x3f80, __float2bfloat16(1.0f).data);
  EXPECT_EQ(0x3f80, __float2bfloat16(1.00390625f).data);
  EXPECT_EQ(0x3f82, __float2bfloat16(1.01171875f).data);
}

}  // namespace
