// NCCL_ALGO and NCCL_PROTO: what may be written, what is refused, and what is left to choose from.
#include "algorithms/select.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../support/expect_error.h"
#include "error.h"
#include "launch_shape.h"

namespace weft {
namespace {

constexpr Collective kAllReduce = Collective::kAllReduce;

// The rules leave `family` over Simple for all-reduce.
void expect_left(const std::string& algo, const std::string& proto,
                 const std::string& family = "Ring") {
  SCOPED_TRACE("NCCL_ALGO=" + algo + " NCCL_PROTO=" + proto);
  try {
    const Rules rules(algo, proto);
    EXPECT_TRUE(rules.allows(kAllReduce, family));
    EXPECT_TRUE(rules.allows(kAllReduce, Protocol::kSimple));
  } catch (const Error& error) {
    ADD_FAILURE() << error.text();
  }
}

void expect_rules_refused(const std::string& algo, const std::string& proto,
                          const std::vector<std::string>& parts) {
  SCOPED_TRACE("NCCL_ALGO=" + algo + " NCCL_PROTO=" + proto);
  try {
    const Rules rules(algo, proto);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclInvalidUsage);
    test::expect_text(error.text(), parts);
  }
}

TEST(Rules, NothingSetLeavesEverything) {
  expect_left("", "");
  const Rules rules("", "");
  for (const AlgorithmRow& row : algorithms()) EXPECT_TRUE(rules.allows(kAllReduce, row.family));
  EXPECT_TRUE(rules.allows(kAllReduce, "Tree"));
  EXPECT_TRUE(rules.allows(kAllReduce, Protocol::kSimple));
}

TEST(Rules, NamesInAnyCaseAndInLists) {
  for (const char* algo : {"Ring", "ring", "RING", "Tree,Ring", "ring,tree",
                           "tree,ring,collnetdirect,CollNetChain,NVLS,NVLSTree,PAT"})
    expect_left(algo, "");
  for (const char* proto : {"Simple", "simple", "SIMPLE", "LL,LL128,Simple", "simple,ll"})
    expect_left("", proto);
}

TEST(Rules, EverythingExcept) {
  for (const char* algo : {"^Tree", "^tree,NVLS", "^TREE,collnetdirect,collnetchain,nvls,pat"})
    expect_left(algo, "");
  for (const char* proto : {"^LL", "^ll,LL128"}) expect_left("", proto);
  const Rules rules("^Tree,PAT", "^LL");
  EXPECT_FALSE(rules.allows(kAllReduce, "Tree"));
  EXPECT_FALSE(rules.allows(kAllReduce, "PAT"));
  EXPECT_TRUE(rules.allows(kAllReduce, "Ring"));
  EXPECT_TRUE(rules.allows(kAllReduce, "NVLS"));
}

TEST(Rules, AListLeavesItsNamesOnly) {
  const Rules rules("Ring,NVLSTree", "");
  EXPECT_TRUE(rules.allows(kAllReduce, "Ring"));
  EXPECT_TRUE(rules.allows(kAllReduce, "NVLSTree"));
  EXPECT_FALSE(rules.allows(kAllReduce, "Tree"));  // part of a listed name, but another one
  EXPECT_FALSE(rules.allows(kAllReduce, "NVLS"));
}

// A prefix is about its own function, whatever the order of functions inside.
TEST(Rules, Functions) {
  for (const char* algo :
       {"allreduce:ring", "AllReduce:Ring", "allreduce:^tree", "broadcast:direct", "reduce:ring",
        "allgather:^ring", "ReduceScatter:PAT",
        "broadcast:ring;reduce:direct;allgather:pat;reducescatter:pat;allreduce:ring"})
    expect_left(algo, "");
  for (const char* proto : {"allreduce:simple", "broadcast:ll", "reduce:^simple;allreduce:^ll"})
    expect_left("", proto);
  expect_rules_refused("allreduce:pat", "", {"NCCL_ALGO=allreduce:pat", "AllReduce"});
  expect_rules_refused("broadcast:tree", "", {"Broadcast"});
  expect_rules_refused("broadcast:ring;allreduce:^ring,tree,direct", "", {"AllReduce"});
  expect_rules_refused("", "allreduce:^LL,LL128,Simple", {"NCCL_PROTO=allreduce:^LL", "AllReduce"});
}

// The first entry is about all functions, a later one about its own.
TEST(Rules, ALaterEntryReplacesTheFirst) {
  expect_left("Tree;allreduce:Ring", "LL;allreduce:simple");
  expect_left("Ring;allreduce:Tree", "", "Tree");
  EXPECT_FALSE(Rules("Ring;allreduce:Tree", "").allows(kAllReduce, "Ring"));
  expect_left("ring;broadcast:direct", "");
}

TEST(Rules, UnknownNames) {
  expect_rules_refused("Rings", "", {"NCCL_ALGO=Rings", "rings is no name", "ring", "nvlstree"});
  expect_rules_refused("ring,oak", "", {"oak is no name"});
  expect_rules_refused("^oak", "", {"oak is no name"});
  expect_rules_refused("simple", "", {"NCCL_ALGO", "simple is no name"});
  expect_rules_refused("", "ring", {"NCCL_PROTO=ring", "ring is no name", "ll128"});
  expect_rules_refused("broadcast:oak", "", {"oak is no name"});
  expect_rules_refused("ring,^tree", "", {"^tree is no name"});  // ^ stands before the whole list
}

TEST(Rules, UnknownFunctions) {
  expect_rules_refused("alltoall:ring", "",
                       {"NCCL_ALGO=alltoall:ring", "alltoall is no function", "allreduce"});
  expect_rules_refused("ring;sendrecv:ring", "", {"sendrecv is no function"});
  expect_rules_refused("", "oak:simple", {"NCCL_PROTO", "oak is no function"});
}

TEST(Rules, OnlyTheFirstEntryMayLeaveOutTheFunction) {
  expect_rules_refused("ring;tree", "", {"NCCL_ALGO=ring;tree", "only the first entry"});
  expect_rules_refused("allreduce:ring;ring", "", {"only the first entry"});
  expect_rules_refused("", "simple;ll", {"NCCL_PROTO=simple;ll", "only the first entry"});
}

// An algorithm that was asked for and is not there is an error, not silently another one.
TEST(Rules, ThatLeaveNothing) {
  expect_rules_refused("NVLS", "", {"NCCL_ALGO=NVLS", "AllReduce"});
  expect_rules_refused("^Ring,Tree,Direct", "", {"NCCL_ALGO=^Ring,Tree,Direct", "AllReduce"});
  expect_rules_refused("NVLS,PAT", "", {"AllReduce"});
  expect_rules_refused("Ring", "^Simple,LL,LL128",
                       {"NCCL_ALGO=Ring", "NCCL_PROTO=^Simple,LL,LL128"});
}

// But a rule for all functions says nothing about a collective that has none of its algorithms.
TEST(Rules, ForAllLeaveOtherCollectivesAsTheyAre) {
  const Rules rules("Tree", "");
  EXPECT_FALSE(rules.allows(kAllReduce, "Ring"));
  EXPECT_TRUE(rules.allows(Collective::kAllGather, "Ring"));
  EXPECT_TRUE(rules.allows(Collective::kAllToAll, "Direct"));
}

TEST(Selector, TheCheapestOfWhatIsLeft) {
  for (const int ranks : {2, 8}) {
    const Selector all(Rules("", ""), ranks, false);
    EXPECT_EQ(all.choose(kAllReduce, 8).protocol, Protocol::kLl) << ranks;
    EXPECT_EQ(all.choose(kAllReduce, 8).algorithm->label, "OneShot") << ranks;
    EXPECT_EQ(all.choose(kAllReduce, size_t(1) << 30).protocol, Protocol::kSimple) << ranks;
    for (int c = 0; c < kCollectiveCount; ++c)
      for (const size_t bytes : {size_t(0), size_t(8), size_t(1) << 20, size_t(1) << 32})
        if (!is_pairwise(Collective(c))) {
          EXPECT_EQ(all.choose(Collective(c), bytes).algorithm->collective(), Collective(c));
        }
  }
  // By name a protocol is taken on any platform.
  EXPECT_EQ(Selector(Rules("", "LL128"), 8, false).choose(kAllReduce, 8).protocol,
            Protocol::kLl128);
  const Selector tree(Rules("Tree", "Simple"), 8, false);
  EXPECT_EQ(tree.choose(kAllReduce, 8).algorithm->label, "Tree");
  EXPECT_EQ(tree.choose(kAllReduce, 8).protocol, Protocol::kSimple);
}

TEST(Selector, LongLinesAreLeftOutWhereTheyDoNotSuit) {
  for (const size_t bytes : {size_t(8), size_t(1) << 20, size_t(1) << 30}) {
    const Selector all(Rules("", "LL,LL128,Simple"), 8, false),
        long_only(Rules("", "LL128"), 8, false);
    EXPECT_NE(all.choose(kAllReduce, bytes, false).protocol, Protocol::kLl128) << bytes;
    EXPECT_EQ(long_only.choose(kAllReduce, bytes, false).protocol, Protocol::kLl128) << bytes;
  }
}

TEST(Selector, InRankOrderOnly) {
  const Selector selector(Rules("", ""), 8, true);
  for (const Collective collective :
       {Collective::kReduce, Collective::kReduceScatter, Collective::kAllReduce})
    for (const size_t bytes : {size_t(8), size_t(1) << 30})
      EXPECT_TRUE(folds_in_rank_order(selector.choose(collective, bytes).algorithm->pattern));
  for (const char* algo : {"Ring", "Tree,Ring", "^Direct", "reducescatter:PAT", "reduce:Ring"}) {
    SCOPED_TRACE(algo);
    try {
      const Selector refused(Rules(algo, ""), 8, true);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ncclInvalidUsage);
      test::expect_text(error.text(), {"WEFT_DETERMINISTIC", "NCCL_ALGO", "Direct"});
    }
  }
  // What does not reduce is left as it is.
  EXPECT_EQ(Selector(Rules("allgather:Ring", ""), 8, true)
                .choose(Collective::kAllGather, 8)
                .algorithm->label,
            "Ring");
}

TEST(Legality, WhatIsNotProvenIsTakenWhenItIsAskedFor) {
  using platform::is_offered;
  using platform::Legality;
  for (const bool unsafe : {false, true}) {
    EXPECT_TRUE(is_offered(Legality::kProven, false, unsafe));
    EXPECT_TRUE(is_offered(Legality::kOnRecord, true, unsafe));
    EXPECT_FALSE(is_offered(Legality::kOnRecord, false, unsafe));
    EXPECT_FALSE(is_offered(Legality::kUnknown, false, unsafe));
    EXPECT_EQ(is_offered(Legality::kUnknown, true, unsafe), unsafe);
  }
}

}  // namespace
}  // namespace weft
