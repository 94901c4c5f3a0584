// The arena: what a carve promises, what is used again and what is not, and that 500 rounds stay
// flat.
#include "arena.h"

#include <gtest/gtest.h>
#include <hip/hip_host.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "error.h"
#include "hip_check.h"

namespace weft::test {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kSegment = size_t{2} << 20;

bool all_bytes(const Carve& carve, int value) {
  std::vector<unsigned char> bytes(carve.bytes());
  hip_check(hipMemcpy(bytes.data(), carve.data(), bytes.size(), hipMemcpyDeviceToHost),
            "reading a carve");
  return std::ranges::all_of(bytes, [value](unsigned char byte) { return byte == value; });
}

void fill(const Carve& carve, int value) {
  hip_check(hipMemset(carve.data(), value, carve.bytes()), "filling a carve");
  hip_check(hipDeviceSynchronize(), "filling a carve");
}

// Each test has a device, hence an arena, of its own.
TEST(Arena, NothingAskedNothingAllocated) {
  Arena& arena = Arena::of_device(0);
  EXPECT_FALSE(arena.carve(0));
  EXPECT_EQ(arena.stats().bytes, 0u);
}

TEST(Arena, CarvesAreZeroedAlignedAndApart) {
  Arena& arena = Arena::of_device(1);
  std::vector<Carve> carves;
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{4097}, size_t{100'000}})
    carves.push_back(arena.carve(bytes));
  EXPECT_EQ(arena.stats().bytes, kSegment) << "all of them fit in one segment";
  std::vector<std::pair<char*, char*>> ranges;
  for (const Carve& carve : carves) {
    ASSERT_TRUE(carve);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(carve.data()) % kPage, 0u);
    EXPECT_EQ(carve.offset() % kPage, 0u);
    EXPECT_TRUE(all_bytes(carve, 0));
    ranges.emplace_back(carve.data(), carve.data() + carve.bytes());
  }
  std::ranges::sort(ranges);
  for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
  EXPECT_GE(carves[3].bytes(), 100'000u);
  for (Carve& carve : carves) carve.release(true);
  EXPECT_EQ(arena.stats().carved, 0u);
}

TEST(Arena, AConfirmedRangeIsUsedAgainAndZeroedAgain) {
  Arena& arena = Arena::of_device(2);
  Carve first = arena.carve(10'000);
  char* const place = first.data();
  fill(first, 0x5a);
  EXPECT_TRUE(all_bytes(first, 0x5a));
  first.release(true);
  EXPECT_FALSE(first);
  Carve second = arena.carve(10'000);
  EXPECT_EQ(second.data(), place);
  EXPECT_TRUE(all_bytes(second, 0));
  second.release(true);
}

TEST(Arena, AnUnconfirmedRangeIsNeverUsedAgain) {
  Arena& arena = Arena::of_device(3);
  std::set<char*> burnt;
  for (int i = 0; i < 3; ++i) {
    Carve carve = arena.carve(kPage);
    EXPECT_TRUE(burnt.insert(carve.data()).second);
    if (i == 0) carve.release(false);  // the others by their destructor
  }
  EXPECT_EQ(arena.stats().quarantined, 3 * kPage);
  std::vector<Carve> rest;
  for (size_t i = 0; i < 2 * kSegment / kPage; ++i) {
    rest.push_back(arena.carve(kPage));
    EXPECT_FALSE(burnt.contains(rest.back().data()));
  }
  for (Carve& carve : rest) carve.release(true);
}

TEST(Arena, NeighboursJoinInAnyOrderOfRelease) {
  Arena& arena = Arena::of_device(4);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<Carve> carves;
    for (size_t i = 0; i < 8; ++i) carves.push_back(arena.carve(kSegment / 8));
    std::ranges::shuffle(carves, random);
    for (Carve& carve : carves) carve.release(true);
    Carve whole = arena.carve(kSegment);
    EXPECT_EQ(arena.stats().segments, 1u) << "the pieces did not join";
    whole.release(true);
  }
}

TEST(Arena, FiveHundredRoundsAreFlat) {
  Arena& arena = Arena::of_device(5);
  const auto round = [&] {
    Carve a = arena.carve(70'000), b = arena.carve(3'000'000);
    a.release(true);
    b.release(true);
  };
  round();
  const size_t before = arena.stats().bytes;
  for (int i = 0; i < 500; ++i) round();
  EXPECT_EQ(arena.stats().bytes, before);
  EXPECT_EQ(arena.stats().quarantined, 0u);
}

TEST(Arena, ThreadsShareOneArena) {
  Arena& arena = Arena::of_device(6);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        Carve carve = arena.carve(kPage * static_cast<size_t>(t));
        if (!all_bytes(carve, 0)) ++wrong;
        fill(carve, t);
        if (!all_bytes(carve, t)) ++wrong;
        carve.release(true);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(arena.stats().carved, 0u);
}

TEST(Arena, ASegmentIsExportedOnce) {
  Arena& arena = Arena::of_device(7);
  Carve a = arena.carve(kPage), b = arena.carve(kPage);
  ASSERT_EQ(a.segment(), b.segment());
  hipHostSetFault(hipHostFaultIpcExport, 1);
  const SegmentExport refused = arena.export_segment(a.segment());
  EXPECT_NE(refused.error.find("hipIpcGetMemHandle"), std::string::npos) << refused.error;
  hipHostSetFault(hipHostFaultIpcExport, 0);
  const SegmentExport first = arena.export_segment(a.segment());
  EXPECT_EQ(first.error, "") << "a failure is not remembered";
  hipHostSetFault(hipHostFaultIpcExport, 1);
  const SegmentExport again = arena.export_segment(b.segment());
  hipHostSetFault(hipHostFaultIpcExport, 0);
  EXPECT_EQ(again.error, "") << "the runtime was asked again";
  EXPECT_EQ(std::memcmp(&first.handle, &again.handle, sizeof first.handle), 0);
  a.release(true);
  b.release(true);
}

TEST(Arena, OutOfMemoryIsAnErrorAndLeavesTheArenaUsable) {
  Arena& arena = Arena::of_device(0);
  hipHostSetFault(hipHostFaultMalloc, 1);
  try {
    (void)arena.carve(kPage);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclUnhandledCudaError);
    EXPECT_NE(error.text().find("device 0"), std::string::npos) << error.text();
  }
  hipHostSetFault(hipHostFaultMalloc, 0);
  Carve carve = arena.carve(kPage);
  EXPECT_TRUE(carve);
  carve.release(true);
}

TEST(Arena, CurrentDeviceStays) {
  ASSERT_EQ(hipSetDevice(1), hipSuccess);
  Carve carve = Arena::of_device(2).carve(kPage);
  (void)Arena::of_device(2).export_segment(carve.segment());
  hipPointerAttribute_t attributes = {};
  ASSERT_EQ(hipPointerGetAttributes(&attributes, carve.data()), hipSuccess);
  EXPECT_EQ(attributes.device, 2);
  carve.release(true);
  int device = -1;
  ASSERT_EQ(hipGetDevice(&device), hipSuccess);
  EXPECT_EQ(device, 1);
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
}

}  // namespace
}  // namespace weft::test
