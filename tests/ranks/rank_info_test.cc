// Identities: same host, same process, same device.
#include "transport/rank_info.h"

#include <gtest/gtest.h>
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>

namespace weft::test {
namespace {

RankInfo rank_on(int rank, int64_t bus_id, uint8_t uuid, uint64_t host = 1) {
  RankInfo info = {};
  info.rank = rank;
  info.host_hash = host;
  info.bus_id = bus_id;
  info.uuid[0] = uuid;
  info.pid = 100 + rank;
  std::strcpy(info.host_name, "node");
  return info;
}

TEST(HostHash, TheKernelDecidesNotTheName) {
  EXPECT_EQ(host_hash("", "boot-1", "node.a"), host_hash("", "boot-1", "node.b"))
      << "containers of one kernel";
  EXPECT_NE(host_hash("", "boot-1", "node"), host_hash("", "boot-2", "node"))
      << "two machines, one name";
  EXPECT_NE(host_hash("", "", "node.a"), host_hash("", "", "node.b"))
      << "names are not cut at the dot";
}

TEST(HostHash, NcclHostidOverrides) {
  EXPECT_EQ(host_hash("x", "boot-1", "a"), host_hash("x", "boot-2", "b"));
  EXPECT_NE(host_hash("x", "boot-1", "a"), host_hash("y", "boot-1", "a"));
  EXPECT_NE(host_hash("boot-1", "", ""), host_hash("", "boot-1", "")) << "an id is no boot id";
}

TEST(ProcessHash, PidNamespaceAndStartTimeCount) {
  std::set<uint64_t> hashes = {process_hash(1, 2, "3"), process_hash(2, 2, "3"),
                               process_hash(1, 3, "3"), process_hash(1, 2, "4")};
  EXPECT_EQ(hashes.size(), 4u);
  EXPECT_EQ(process_hash(1, 2, "3"), process_hash(1, 2, "3"));
}

TEST(RankInfo, DescribesTheCurrentDevice) {
  ASSERT_EQ(hipSetDevice(3), hipSuccess);
  const RankInfo info = make_rank_info({5, 7, 22803, 99, "", "HIP_VISIBLE_DEVICES=0,1"});
  EXPECT_EQ(info.rank, 5);
  EXPECT_EQ(info.device, 3);
  EXPECT_EQ(info.pid, getpid());
  EXPECT_EQ(info.wire_version, 7u);
  EXPECT_EQ(info.library_version, 22803u);
  EXPECT_EQ(info.config_hash, 99u);
  EXPECT_STREQ(info.visible, "HIP_VISIBLE_DEVICES=0,1");
  char bus[32];
  ASSERT_EQ(hipDeviceGetPCIBusId(bus, sizeof bus, 3), hipSuccess);
  EXPECT_EQ(bus_id_text(info.bus_id), bus);
  hipDeviceProp_t properties;
  ASSERT_EQ(hipGetDeviceProperties(&properties, 3), hipSuccess);
  EXPECT_TRUE(std::string(properties.gcnArchName).starts_with(info.arch));
  EXPECT_EQ(std::string(info.arch).find(':'), std::string::npos);
  const RankInfo again = make_rank_info({6, 7, 22803, 99, "", ""});
  EXPECT_EQ(again.process_hash, info.process_hash);
  EXPECT_EQ(again.host_hash, info.host_hash);
  int device = -1;
  ASSERT_EQ(hipGetDevice(&device), hipSuccess);
  EXPECT_EQ(device, 3);
}

TEST(BusId, PacksAndPrints) {
  EXPECT_EQ(pack_bus_id("0000:c1:00.0"), 0xc1000);
  EXPECT_EQ(pack_bus_id("0001:03:00.3"), 0x103003);
  for (const char* text : {"0000:c1:00.0", "0001:03:1f.7", "ffff:ff:00.0"})
    EXPECT_EQ(bus_id_text(pack_bus_id(text)), text);
  for (const char* text : {"", "0000:xy:00.0", "0000:00:00.0 "})
    EXPECT_ANY_THROW(pack_bus_id(text)) << text;
}

TEST(DuplicateDevice, NoneAmongDifferentOnes) {
  EXPECT_EQ(find_duplicate_device({}), "");
  EXPECT_EQ(find_duplicate_device({rank_on(0, 0x3000, 1), rank_on(1, 0x4000, 2)}), "");
}

TEST(DuplicateDevice, PartitionsOfOneBoardAreDifferentDevices) {
  EXPECT_EQ(
      find_duplicate_device(
          {rank_on(0, pack_bus_id("0000:03:00.0"), 1), rank_on(1, pack_bus_id("0000:03:00.1"), 1),
           rank_on(2, pack_bus_id("0000:03:00.2"), 1), rank_on(3, pack_bus_id("0000:03:00.3"), 1)}),
      "")
      << "one UUID, four functions";
  EXPECT_EQ(find_duplicate_device({rank_on(0, 0x3000, 1), rank_on(1, 0x3000, 2)}), "")
      << "one bus id, two UUIDs";
}

TEST(DuplicateDevice, TheSameNumbersOnAnotherHostAreAnotherDevice) {
  EXPECT_EQ(find_duplicate_device({rank_on(0, 0x3000, 1, 1), rank_on(1, 0x3000, 1, 2)}), "");
}

TEST(DuplicateDevice, NamesThePairAndShowsTheTable) {
  auto ranks = std::vector{rank_on(0, 0x3000, 1), rank_on(1, 0xc1000, 2), rank_on(2, 0xc1000, 2),
                           rank_on(3, 0xc1000, 2, 9)};
  std::strcpy(ranks[2].visible, "ROCR_VISIBLE_DEVICES=1");
  const std::string text = find_duplicate_device(ranks);
  EXPECT_TRUE(
      text.starts_with("Duplicate GPU detected : rank 1 and rank 2 both on CUDA device c1000"))
      << text;
  EXPECT_NE(text.find("ROCR_VISIBLE_DEVICES=1"), std::string::npos) << text;
  EXPECT_NE(text.find("0000:c1:00.0"), std::string::npos) << text;
  EXPECT_NE(text.find(" 102 "), std::string::npos) << "pid of rank 2\n" << text;
  EXPECT_EQ(text.find(" 103 "), std::string::npos) << "rank 3 is on another host\n" << text;
}

}  // namespace
}  // namespace weft::test
