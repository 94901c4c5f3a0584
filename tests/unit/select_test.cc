// NCCL_ALGO and NCCL_PROTO: what may be written, what is refused, and what is left to choose from.
#include "algorithms/select.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../support/expect_error.h"
#include "error.h"

namespace weft {
namespace {

constexpr Collective kAllReduce = Collective::kAllReduce;

void expect_ring(const std::string& algo, const std::string& proto) {
  SCOPED_TRACE("NCCL_ALGO=" + algo + " NCCL_PROTO=" + proto);
  try {
    const Choice choice = select(kAllReduce, Rules(algo, proto));
    ASSERT_NE(choice.algorithm, nullptr);
    EXPECT_EQ(choice.algorithm->name, "Ring");
    EXPECT_EQ(choice.protocol, Protocol::kSimple);
  } catch (const Error& error) {
    ADD_FAILURE() << error.text();
  }
}

void expect_refused(const std::string& algo, const std::string& proto,
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
  expect_ring("", "");
  const Rules rules("", "");
  for (const AlgorithmRow& row : algorithms()) EXPECT_TRUE(rules.allows(kAllReduce, row.name));
  EXPECT_TRUE(rules.allows(kAllReduce, "Tree"));
  EXPECT_TRUE(rules.allows(kAllReduce, Protocol::kSimple));
}

TEST(Rules, NamesInAnyCaseAndInLists) {
  for (const char* algo : {"Ring", "ring", "RING", "Tree,Ring", "ring,tree",
                           "tree,ring,collnetdirect,CollNetChain,NVLS,NVLSTree,PAT"})
    expect_ring(algo, "");
  for (const char* proto : {"Simple", "simple", "SIMPLE", "LL,LL128,Simple", "simple,ll"})
    expect_ring("", proto);
}

TEST(Rules, EverythingExcept) {
  for (const char* algo : {"^Tree", "^tree,NVLS", "^TREE,collnetdirect,collnetchain,nvls,pat"})
    expect_ring(algo, "");
  for (const char* proto : {"^LL", "^ll,LL128"}) expect_ring("", proto);
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
       {"allreduce:ring", "AllReduce:Ring", "allreduce:^tree", "broadcast:tree", "reduce:tree",
        "allgather:^ring", "ReduceScatter:PAT",
        "broadcast:tree;reduce:tree;allgather:pat;reducescatter:pat;allreduce:ring"})
    expect_ring(algo, "");
  for (const char* proto : {"allreduce:simple", "broadcast:ll", "reduce:^simple;allreduce:^ll"})
    expect_ring("", proto);
  expect_refused("allreduce:tree", "", {"NCCL_ALGO=allreduce:tree", "AllReduce"});
  expect_refused("broadcast:ring;allreduce:^ring", "", {"AllReduce"});
  expect_refused("", "allreduce:LL", {"NCCL_PROTO=allreduce:LL", "AllReduce"});
}

// The first entry is about all functions, a later one about its own.
TEST(Rules, ALaterEntryReplacesTheFirst) {
  expect_ring("Tree;allreduce:Ring", "LL;allreduce:simple");
  expect_refused("Ring;allreduce:Tree", "", {"AllReduce"});
  expect_ring("ring;broadcast:tree", "");
}

TEST(Rules, UnknownNames) {
  expect_refused("Rings", "", {"NCCL_ALGO=Rings", "rings is no name", "ring", "nvlstree"});
  expect_refused("ring,oak", "", {"oak is no name"});
  expect_refused("^oak", "", {"oak is no name"});
  expect_refused("simple", "", {"NCCL_ALGO", "simple is no name"});
  expect_refused("", "ring", {"NCCL_PROTO=ring", "ring is no name", "ll128"});
  expect_refused("broadcast:oak", "", {"oak is no name"});
  expect_refused("ring,^tree", "", {"^tree is no name"});  // ^ stands before the whole list
}

TEST(Rules, UnknownFunctions) {
  expect_refused("alltoall:ring", "",
                 {"NCCL_ALGO=alltoall:ring", "alltoall is no function", "allreduce"});
  expect_refused("ring;sendrecv:ring", "", {"sendrecv is no function"});
  expect_refused("", "oak:simple", {"NCCL_PROTO", "oak is no function"});
}

TEST(Rules, OnlyTheFirstEntryMayLeaveOutTheFunction) {
  expect_refused("ring;tree", "", {"NCCL_ALGO=ring;tree", "only the first entry"});
  expect_refused("allreduce:ring;ring", "", {"only the first entry"});
  expect_refused("", "simple;ll", {"NCCL_PROTO=simple;ll", "only the first entry"});
}

// An algorithm that was asked for and is not there is an error, not silently another one.
TEST(Rules, ThatLeaveNothing) {
  expect_refused("Tree", "", {"NCCL_ALGO=Tree", "AllReduce", "Ring with Simple"});
  expect_refused("^Ring", "", {"NCCL_ALGO=^Ring", "AllReduce"});
  expect_refused("NVLS,PAT", "", {"AllReduce"});
  expect_refused("", "LL128", {"NCCL_PROTO=LL128", "AllReduce"});
  expect_refused("Ring", "^Simple", {"NCCL_ALGO=Ring", "NCCL_PROTO=^Simple"});
}

}  // namespace
}  // namespace weft
