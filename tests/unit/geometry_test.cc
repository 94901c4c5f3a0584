// Sizes that all ranks compute from the same gathered data: rules that hold for any limits.
#include "geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "device/work.h"
#include "launch_shape.h"

namespace weft {
namespace {

constexpr uint64_t kKiB = 1 << 10, kMiB = 1 << 20;

// Of the slots of Simple.
uint64_t fifo_bytes(const BoxLayout& box) {
  const Fifo& fifo = box.of(Region::kSimple);
  return uint64_t(box.channels) * fifo.slots * fifo.slot_bytes;
}

std::vector<uint64_t> all_of(const Geometry& geometry) {
  std::vector<uint64_t> all = {geometry.box.channels, geometry.min_channels, geometry.threads};
  for (const Fifo& fifo : geometry.box.fifo)
    for (const uint64_t part : {fifo.offset, uint64_t(fifo.slots), uint64_t(fifo.slot_bytes)})
      all.push_back(part);
  return all;
}

TEST(ShareDevice, EachRankGetsItsPartOfTheBlocks) {
  Limits limits{4, 64, 512, 0, 132};
  share_device(limits, 1);
  EXPECT_EQ(limits.max_channels, 64u);
  share_device(limits, 4);
  EXPECT_EQ(limits.max_channels, 33u);
  EXPECT_EQ(limits.min_channels, 4u);
  share_device(limits, 500);
  EXPECT_EQ(limits.max_channels, 1u);
  EXPECT_EQ(limits.min_channels, 1u);
}

TEST(AgreeGeometry, TheOrderOfRanksDoesNotMatter) {
  std::vector<Limits> limits = {
      {1, 64, 512, 0}, {3, 40, 256, kMiB}, {2, 128, 64, 6 * kMiB}, {1, 9, 128, 64 * kKiB}};
  std::vector<int> order = {0, 1, 2, 3};
  const auto expected = all_of(agree_geometry(limits, 3));
  do {
    std::vector<Limits> turned;
    for (const int rank : order) turned.push_back(limits[size_t(rank)]);
    EXPECT_EQ(all_of(agree_geometry(turned, 3)), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

// The largest minimum, the smallest maximum, the fewest threads, the largest buffer.
TEST(AgreeGeometry, TheStrictestRankDecides) {
  const Geometry geometry =
      agree_geometry({{2, 20, 512, kMiB}, {4, 6, 64, 3 * kMiB}, {1, 9, 256, 0}}, 2);
  EXPECT_EQ(geometry.min_channels, 4u);
  EXPECT_EQ(geometry.box.channels, 6u);
  EXPECT_EQ(geometry.threads, 64u);
  EXPECT_EQ(all_of(geometry), all_of(agree_geometry({{4, 6, 64, 3 * kMiB}}, 2)));
  EXPECT_GT(fifo_bytes(geometry.box), 2 * kMiB);
}

// A minimum of one rank wins over a maximum of another.
TEST(AgreeGeometry, AMinimumAboveTheMaximum) {
  const Geometry geometry = agree_geometry({{1, 2, 64, 0}, {7, 7, 64, 0}}, 1);
  EXPECT_EQ(geometry.min_channels, 7u);
  EXPECT_EQ(geometry.box.channels, 7u);
}

void check(const Limits& limits, int peers) {
  SCOPED_TRACE(testing::Message() << "channels " << limits.min_channels << ".."
                                  << limits.max_channels << ", buffer " << limits.buffer_bytes
                                  << ", peers " << peers);
  const Geometry geometry = agree_geometry({limits}, peers);
  const BoxLayout& box = geometry.box;
  uint64_t end = kLineBytes;  // of the region before: they lie behind one another
  for (const Fifo& fifo : box.fifo) {
    EXPECT_EQ(fifo.offset, end);
    end += fifo.bytes(box.channels);
    EXPECT_GE(fifo.slots, 2u);
    EXPECT_LE(fifo.slots, kMaxSlots);
    // Counters of slices wrap at 2^32, which must fall between two turns of the slots.
    EXPECT_EQ(fifo.slots & (fifo.slots - 1), 0u) << fifo.slots;
    EXPECT_GT(fifo.slot_bytes, 0u);
    EXPECT_EQ(fifo.slot_bytes % kLineBytes, 0u) << fifo.slot_bytes;
  }
  EXPECT_EQ(box.bytes(), end);
  for (const Region region : {Region::kLlExchange, Region::kLl128Exchange})
    EXPECT_EQ(box.of(region).slots, 2u);  // device/lines.h
  EXPECT_GE(box.channels, geometry.min_channels);
  EXPECT_EQ(geometry.min_channels, limits.min_channels);
  EXPECT_LE(box.channels, std::max(limits.max_channels, limits.min_channels));
  // The shortest slice is what a small buffer cannot go below.
  const uint64_t least = uint64_t(box.channels) * 4 * 2 * kKiB;
  if (limits.buffer_bytes > 0) {
    EXPECT_LE(fifo_bytes(box), std::max(limits.buffer_bytes, least));
  }
  if (limits.buffer_bytes == 0) {
    const uint64_t all_least = uint64_t(box.channels) * (24 * 2 * kKiB + 7 * Fifo::kControlBytes);
    EXPECT_LE(box.bytes() * uint64_t(peers),
              (peers > 1 ? 16 : 64) * kMiB + (all_least + kLineBytes) * uint64_t(peers));
    EXPECT_LE(box.of(Region::kSimple).slot_bytes, platform::kMaxSliceBytes);
  }
}

TEST(AgreeGeometry, RulesHoldForAnyLimits) {
  for (const uint32_t min : {1u, 2u, 7u, 64u, 128u})
    for (const uint32_t max : {1u, 2u, 19u, 28u, 64u, 128u})
      for (const uint64_t buffer : {uint64_t(0), uint64_t(1), uint64_t(1000), 64 * kKiB,
                                    100000 * uint64_t(1), 4 * kMiB, 1024 * kMiB, uint64_t(1) << 40})
        for (const int peers : {1, 2, 7, 63}) check({min, max, 256, buffer}, peers);
}

// NCCL_BUFFSIZE that is large enough is also used, but for what does not come out even.
TEST(AgreeGeometry, ABufferSizeIsUsedUp) {
  for (const uint32_t channels : {1u, 3u, 32u})
    for (const uint64_t buffer : {2 * kMiB, 5 * kMiB + 77, 256 * kMiB}) {
      const BoxLayout box = agree_geometry({{channels, channels, 256, buffer}}, 7).box;
      EXPECT_GT(fifo_bytes(box) + uint64_t(channels) * 4 * kLineBytes, buffer)
          << channels << " channels, " << buffer;
    }
}

// What the design allows a rank of eight on one host: 16 MiB that its peers write, whatever the
// platform's number of channels.
TEST(AgreeGeometry, EightRanksOfAHostStayWithinTheirMemory) {
  constexpr uint64_t kPeers = 7;
  for (const uint32_t channels : {platform::kDefaultChannels, 2u, 28u, 64u, 128u}) {
    Limits limits = make_limits({}, 0, 0, 304);
    limits.max_channels = channels;
    const BoxLayout box = agree_geometry(std::vector<Limits>(8, limits), int(kPeers)).box;
    EXPECT_LE(kPeers * box.bytes(), 16 * kMiB + kPeers * kLineBytes) << channels;
  }
}

TEST(MakeLimits, DefaultsArePlatformsOwn) {
  const Limits limits = make_limits({}, 0, 0, 1000);
  EXPECT_EQ(limits.min_channels, 1u);
  EXPECT_EQ(limits.max_channels, platform::kDefaultChannels);
  EXPECT_EQ(limits.threads, platform::kDefaultThreads);
  EXPECT_EQ(limits.buffer_bytes, 0u);
}

TEST(MakeLimits, EnvironmentBeforeConfigAndChannelsBeforeCtas) {
  Config config;
  Limits limits = make_limits(config, 3, 9, 1000);
  EXPECT_EQ(limits.min_channels, 3u);
  EXPECT_EQ(limits.max_channels, 9u);
  config.min_ctas = 4, config.max_ctas = 10;
  limits = make_limits(config, 3, 9, 1000);
  EXPECT_EQ(limits.min_channels, 4u);
  EXPECT_EQ(limits.max_channels, 10u);
  config.min_channels = 5, config.max_channels = 11;
  limits = make_limits(config, 3, 9, 1000);
  EXPECT_EQ(limits.min_channels, 5u);
  EXPECT_EQ(limits.max_channels, 11u);
}

// Blocks wait for each other, so all of a launch must find a place on the device.
TEST(MakeLimits, NoMoreChannelsThanTheDeviceRuns) {
  const Limits few = make_limits({}, 50, 60, 8);
  EXPECT_EQ(few.min_channels, 8u);
  EXPECT_EQ(few.max_channels, 8u);
  const Limits many = make_limits({}, 500, 600, 1000);
  EXPECT_EQ(many.min_channels, kMaxChannels);
  EXPECT_EQ(many.max_channels, kMaxChannels);
  EXPECT_EQ(make_limits({}, 0, 0, 0).max_channels, 1u);
}

TEST(MakeLimits, AMinimumAloneRaisesTheMaximum) {
  const Limits limits = make_limits({}, int(platform::kDefaultChannels) + 5, 0, 1000);
  EXPECT_EQ(limits.min_channels, platform::kDefaultChannels + 5);
  EXPECT_EQ(limits.max_channels, platform::kDefaultChannels + 5);
}

TEST(MakeLimits, NoMoreThreadsThanKernelsAreCompiledFor) {
  Config config;
  config.threads = int(platform::kMaxThreads) * 2;
  EXPECT_EQ(make_limits(config, 0, 0, 8).threads, platform::kMaxThreads);
  config.threads = 64;
  config.buffer_bytes = 12345;
  EXPECT_EQ(make_limits(config, 0, 0, 8).threads, 64u);
  EXPECT_EQ(make_limits(config, 0, 0, 8).buffer_bytes, 12345u);
}

}  // namespace
}  // namespace weft
