// weft-perf's table of collectives: counts, busbw factors, placements, where every output element
// comes from.
#include <gtest/gtest.h>

#include <algorithm>

#include "collectives.h"
#include "failure.h"

namespace weft::perf {
namespace {

TEST(PerfCollectives, CountsAndTotals) {
  const Collective& reduce = find_collective("all_reduce");
  EXPECT_EQ(count_for(reduce, 1024, 4, 3), 256u);
  EXPECT_EQ(count_for(reduce, 7, 4, 3), 1u);
  EXPECT_EQ(total_bytes(reduce, 256, 4, 3), 1024u);
  const Collective& gather = find_collective("all_gather_perf");
  // 1024 bytes over 3 ranks: 85 floats each, down to a multiple of 16 bytes.
  EXPECT_EQ(count_for(gather, 1024, 4, 3), 84u);
  EXPECT_EQ(total_bytes(gather, 84, 4, 3), 1008u);
  EXPECT_EQ(count_for(gather, 8, 4, 3), 0u);
  EXPECT_THROW(find_collective("all_reduc"), Failure);
}

TEST(PerfCollectives, BusFactors) {
  const auto factor = [](const char* name) { return find_collective(name).bus_factor(8); };
  EXPECT_DOUBLE_EQ(factor("all_reduce"), 1.75);
  for (const char* name : {"all_gather", "reduce_scatter", "alltoall", "gather", "scatter"}) {
    EXPECT_DOUBLE_EQ(factor(name), 0.875) << name;
  }
  for (const char* name : {"broadcast", "reduce", "sendrecv"})
    EXPECT_DOUBLE_EQ(factor(name), 1) << name;
}

// Every output element is promised once, and every source lies inside that rank's input.
TEST(PerfCollectives, SegmentsCoverTheOutput) {
  for (const std::string& name : collective_names()) {
    const Collective& collective = find_collective(name);
    for (int rank = 0; rank < 5; ++rank) {
      const Shape shape{5, rank, 12, 3};
      auto segments = collective.expected(shape);
      std::sort(segments.begin(), segments.end(),
                [](const Segment& a, const Segment& b) { return a.out < b.out; });
      size_t at = 0;
      for (const Segment& segment : segments) {
        EXPECT_EQ(segment.out, at) << name;
        at += segment.count;
        const int source = segment.source == kReducedOverRanks ? 0 : segment.source;
        const Shape from{5, source, 12, 3};
        EXPECT_LE(segment.in + segment.count, collective.send_elems(from)) << name;
      }
      EXPECT_EQ(at, collective.recv_elems(shape)) << name << " rank " << rank;
    }
  }
}

TEST(PerfCollectives, InPlaceFollowsNccl) {
  const Shape shape{4, 2, 10, 2};
  const Collective& gather = find_collective("all_gather");
  EXPECT_EQ(gather.send_in_place(shape), 20u);
  EXPECT_EQ(gather.recv_in_place(shape), 0u);
  const Collective& scatter = find_collective("reduce_scatter");
  EXPECT_EQ(scatter.send_in_place(shape), 0u);
  EXPECT_EQ(scatter.recv_in_place(shape), 20u);
  EXPECT_EQ(find_collective("gather").send_in_place(shape), 20u);
  EXPECT_EQ(find_collective("gather").send_in_place({4, 1, 10, 2}), 0u);
  EXPECT_EQ(find_collective("scatter").recv_in_place(shape), 20u);
}

TEST(PerfCollectives, SourcesByName) {
  const Shape shape{4, 1, 10, 2};
  const auto all_to_all = find_collective("alltoall").expected(shape);
  ASSERT_EQ(all_to_all.size(), 4u);
  EXPECT_EQ(all_to_all[3].source, 3);
  EXPECT_EQ(all_to_all[3].in, 10u);  // rank 1's part of rank 3's input
  EXPECT_EQ(find_collective("sendrecv").expected(shape)[0].source, 0);
  EXPECT_EQ(find_collective("sendrecv").expected({4, 0, 10, 0})[0].source, 3);
  EXPECT_EQ(find_collective("reduce_scatter").expected(shape)[0].in, 10u);
  EXPECT_TRUE(find_collective("reduce").expected(shape).empty());
  EXPECT_EQ(find_collective("broadcast").expected(shape)[0].source, 2);
  EXPECT_EQ(find_collective("scatter").expected(shape)[0].in, 10u);
}

}  // namespace
}  // namespace weft::perf
