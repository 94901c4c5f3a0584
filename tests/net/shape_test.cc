// The parts of the bootstrap that are pure: tree shape, gathers over a simulated tree, unique ids,
// rank lists.
#include <gtest/gtest.h>

#include <queue>
#include <set>

#include "bootstrap/bootstrap.h"
#include "bootstrap/gather.h"
#include "bootstrap/mailbox.h"
#include "bootstrap/root.h"
#include "bootstrap/unique_id.h"
#include "error.h"

namespace weft {
namespace {

TEST(TreeShape, EveryRankOnceAndParentsAgree) {
  for (int nranks : {1, 2, 3, 8, 9, 10, 64, 65, 73, 74, 1000, 4097}) {
    for (int rank = 0; rank < nranks; rank++) {
      const auto shape = tree_shape(rank, nranks);
      ASSERT_LE(shape.children.size(), static_cast<size_t>(kTreeArity));
      ASSERT_EQ(shape.covers.first, rank);
      int at = rank + 1;
      for (const auto& child : shape.children) {
        ASSERT_EQ(child.first, at);
        at = child.last;
        const auto below = tree_shape(child.first, nranks);
        ASSERT_EQ(below.parent, rank);
        ASSERT_EQ(below.covers, child);
      }
      ASSERT_EQ(at, shape.covers.last);
      ASSERT_EQ(shape.parent < 0, rank == 0);
    }
  }
}

TEST(TreeShape, PathsEndAndAreShort) {
  const int nranks = 1000;
  for (int from = 0; from < nranks; from += 37)
    for (int to = 0; to < nranks; to += 29) ASSERT_LE(tree_path(from, to, nranks).size(), 7u);
}

// Ranks without sockets: messages in one queue, taken in the order of `seed`.
void simulate_gather(int nranks, int rounds) {
  std::vector<TreeShape> shapes;
  std::vector<GatherRounds> ranks;
  for (int rank = 0; rank < nranks; rank++) {
    shapes.push_back(tree_shape(rank, nranks));
    ranks.emplace_back(shapes.back());
  }
  for (int round = 0; round < rounds; round++) {
    std::optional<Gather> result;
    for (int rank = nranks - 1; rank >= 0; rank--) {
      ranks[rank].add_own(GatherKind::kTexts, 0, std::to_string(rank * 10 + round));
      auto joined = ranks[rank].take_complete(round);
      ASSERT_TRUE(joined);
      const int parent = shapes[rank].parent;
      if (parent < 0) {
        result = std::move(joined);
        break;
      }
      size_t child = 0;
      while (shapes[parent].children[child].first != rank) child++;
      ASSERT_TRUE(ranks[parent].add_child(child, std::move(*joined)));
    }
    ASSERT_TRUE(result);
    for (int rank = 0; rank < nranks; rank++)
      ASSERT_EQ(result->texts[rank], std::to_string(rank * 10 + round));
  }
}

TEST(Gather, RankOrderForAnyNumberOfRanks) {
  for (int nranks : {1, 2, 3, 8, 9, 10, 63, 64, 65, 100, 1000}) simulate_gather(nranks, 2);
}

TEST(Gather, DifferentCallsAreNamed) {
  GatherRounds rounds(tree_shape(0, 2));
  rounds.add_own(GatherKind::kBarrier, 0, "");
  EXPECT_FALSE(rounds.take_complete(0));
  EXPECT_EQ(rounds.missing(0).size(), 1u);
  ASSERT_TRUE(rounds.add_child(0, {0, GatherKind::kFixed, 8, {"12345678"}}));
  try {
    rounds.take_complete(0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclInvalidUsage);
    EXPECT_EQ(error.text(),
              "ranks made different calls: rank 0 barrier, rank 1 all_gather of 8 bytes");
  }
}

TEST(Gather, ImpossiblePartsAreRefused) {
  GatherRounds rounds(tree_shape(0, 3));
  EXPECT_FALSE(rounds.add_child(0, {0, GatherKind::kBarrier, 0, {}}));    // too few texts
  EXPECT_FALSE(rounds.add_child(0, {1, GatherKind::kBarrier, 0, {""}}));  // from the future
  EXPECT_TRUE(rounds.add_child(0, {0, GatherKind::kBarrier, 0, {""}}));
  EXPECT_FALSE(rounds.add_child(0, {0, GatherKind::kBarrier, 0, {""}}));  // twice
}

TEST(Mailbox, FifoPerPeerAndTag) {
  Mailbox box;
  auto put = [&](int peer, uint32_t tag, int value) {
    box.put(peer, tag, {static_cast<std::byte>(value)});
  };
  put(1, 5, 10), put(2, 5, 20), put(1, 6, 30), put(1, 5, 11);
  EXPECT_EQ(box.take(1, 6).value()[0], std::byte{30});
  EXPECT_EQ(box.take(1, 5).value()[0], std::byte{10});
  EXPECT_EQ(box.take(1, 5).value()[0], std::byte{11});
  EXPECT_FALSE(box.take(1, 5));
  EXPECT_EQ(box.take(2, 5).value()[0], std::byte{20});
}

TEST(UniqueIdBytes, SurviveTheTrip) {
  UniqueId id = mint_unique_id();
  id.endpoint.port = 4711;
  for (const char* address :
       {"10.0.0.1", "fd00::1", "192.168.1.1", "fd00::2", "fd00::3", "10.0.0.2"})
    id.endpoint.addresses.push_back(Address::parse(address).value());
  const UniqueId back = UniqueId::decode(id.encode());
  EXPECT_EQ(back.nonce, id.nonce);
  EXPECT_EQ(back.secret, id.secret);
  EXPECT_EQ(back.endpoint.port, 4711);
  EXPECT_EQ(back.endpoint.place, id.endpoint.place);
  EXPECT_EQ(back.endpoint.unix_name, id.endpoint.unix_name);
  // 64 bytes hold the first two of each kind, the third IPv6 does not fit beside them: 5+17+5+17+17
  // = 61.
  ASSERT_EQ(back.endpoint.addresses.size(), 5u);
  EXPECT_EQ(back.endpoint.addresses[3].text(), "fd00::2");
}

TEST(UniqueIdBytes, NoBitMayDiffer) {
  const ncclUniqueId good = mint_unique_id().encode();
  for (size_t bit = 0; bit < sizeof good * 8; bit++) {
    ncclUniqueId bad = good;
    bad.internal[bit / 8] = static_cast<char>(bad.internal[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THROW(UniqueId::decode(bad), Error) << "bit " << bit;
  }
  EXPECT_THROW(UniqueId::decode(ncclUniqueId{}), Error);
}

TEST(UniqueIdBytes, LabelsAreShortAndDifferAndHideTheSecret) {
  std::set<std::string> labels;
  for (int i = 0; i < 100; i++) {
    const UniqueId id = mint_unique_id();
    const std::string label = unique_id_label(id.encode());
    EXPECT_LE(label.size(), 20u);
    EXPECT_EQ(hex_text(id.secret).find(label.substr(5)), std::string::npos);
    labels.insert(label);
  }
  EXPECT_EQ(labels.size(), 100u);
}

TEST(FixedId, TextForms) {
  EXPECT_EQ(parse_host_port("1.2.3.4:80").port, 80);
  EXPECT_EQ(parse_host_port("[fe80::1%eth0]:81").host, "fe80::1%eth0");
  EXPECT_EQ(parse_host_port("node1:82").host, "node1");
  for (const char* bad : {"", "node1", "node1:", ":80", "node1:0", "node1:65536", "node1:8x"})
    EXPECT_THROW(parse_host_port(bad), Error) << bad;
  const UniqueId id = UniqueId::decode(fixed_unique_id("node1:82").encode());
  EXPECT_EQ(id.fixed_where, "node1:82");
  EXPECT_EQ(fixed_unique_id("node1:82").nonce, id.nonce);
}

TEST(RankList, IsShort) {
  EXPECT_EQ(rank_list_text({}), "");
  EXPECT_EQ(rank_list_text({4}), "4");
  EXPECT_EQ(rank_list_text({1, 3, 4, 5, 9}), "1, 3-5, 9");
}

}  // namespace
}  // namespace weft
