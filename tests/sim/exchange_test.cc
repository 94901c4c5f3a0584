// Which patterns may run without credits, over two slots a flow overwritten in turn: exactly those
// of exchanges(). The simulator follows what each place knows of the others, so its verdict holds
// for every order in which places run, not only for those that were tried.
#include <gtest/gtest.h>

#include <random>

#include "algorithms/simulate.h"
#include "pattern_list.h"
#include "seed.h"

namespace weft {
namespace {

Simulation exchange(int n, uint64_t seed) {
  Simulation s;
  s.places = n;
  s.exchange = true;
  s.seed = seed;
  return s;
}

class Exchange : public ::testing::TestWithParam<PatternId> {};

TEST_P(Exchange, IsLegalWhereItIsSaidToBe) {
  for (int n = 2; n <= 64; ++n)
    for (int root : roots(GetParam(), n))
      for (int channel = 0; channel < channel_kinds(GetParam()); ++channel) {
        Simulation s = exchange(n, test_seed() + uint64_t(n));
        s.programs = {program_of(GetParam(), n, root, channel)};
        s.loops = 4;
        const std::string error = simulate(s).error;
        if (exchanges(GetParam())) {
          EXPECT_EQ(error, "") << n << " places";
        } else if (n >= 8) {  // some others are legal for a few small n
          const bool seen = error.find("overwrites slice") != std::string::npos ||
                            error.find("looks for slice") != std::string::npos;
          EXPECT_TRUE(seen) << n << " places: " << error;
        }
      }
}

INSTANTIATE_TEST_SUITE_P(All, Exchange, ::testing::ValuesIn(all_patterns()),
                         [](const auto& info) { return name_of(info.param); });

std::vector<PatternId> legal() {
  std::vector<PatternId> ids;
  for (PatternId id : all_patterns())
    if (exchanges(id)) ids.push_back(id);
  return ids;
}

// All operations of a communicator share the slots. Also with empty chunks, whose moves are left
// out, while their hops count.
TEST(Exchange, LegalPatternsFollowOneAnother) {
  std::mt19937_64 random(test_seed());
  const std::vector<PatternId> ids = legal();
  for (int i = 0; i < 400; ++i) {
    Simulation s = exchange(2 + int(random() % (i % 10 == 0 ? 63 : 12)), random());
    for (int k = 0; k < 8; ++k)
      s.programs.push_back(program_of(ids[random() % ids.size()], s.places, 0, i % 2));
    s.loops = 1 + int(random() % 3);
    EXPECT_EQ(simulate(s).error, "") << s.places << " places";
    // As chunks.h cuts: the first chunks have packs, the others none. Segments have equal ones.
    std::vector<int> filled;
    for (const Program& program : s.programs)
      for (int loop = 0; loop < s.loops; ++loop)
        filled.push_back(program.chunks == 1 || random() % 2 ? program.chunks
                                                             : 1 + int(random() % 3));
    for (size_t k = 0; k < filled.size(); ++k)
      if (s.programs[k / s.loops].hops != TwoShotAllReduce::hops(0)) filled[k] = s.places;
    s.slices = [&](int loop, int chunk) { return int(chunk < filled[size_t(loop)]); };
    EXPECT_EQ(simulate(s).error, "") << s.places << " places, empty chunks";
  }
}

TEST(Exchange, OneWayTrafficBetweenLegalOnesIsSeen) {
  Simulation s = exchange(4, test_seed());
  const Program legal = program_of(PatternId::kOneShotAllReduce, 4);
  const Program one_way = program_of(PatternId::kRingBroadcast, 4);
  s.programs = {legal, one_way, legal};
  s.loops = 2;
  EXPECT_NE(simulate(s).error.find("overwrites slice"), std::string::npos);
}

TEST(Exchange, TwoSlicesAChunkAreSeen) {
  Simulation s = exchange(4, test_seed());
  s.programs = {program_of(PatternId::kOneShotAllReduce, 4)};
  s.loops = 2;
  s.slices_per_chunk = 2;
  EXPECT_NE(simulate(s).error.find("overwrites slice"), std::string::npos);
}

// A place that does not look at one other place's data before it goes on.
TEST(Exchange, OnePlaceNotHeardIsSeen) {
  Simulation s = exchange(4, test_seed());
  s.programs = {program_of(PatternId::kDirectAllGather, 4)};
  const auto right = s.programs[0].step;
  s.programs[0].step = [right](int place, int hop) {
    Step step = right(place, hop);
    if (place == 3 && hop == 0) step.send = Peers::others_but(0);
    if (place == 0 && hop == 1) step.recv = Peers::others_but(3);
    return step;
  };
  s.programs[0].expected = [](int place, int chunk) {
    return place == 0 && chunk == 3 ? Expected{}
                                    : expected_output(Collective::kAllGather, {place, 4, 0}, chunk);
  };
  s.loops = 2;
  EXPECT_EQ(simulate(s).error, "");  // two slots: nothing is overwritten yet
  s.loops = 4;
  EXPECT_NE(simulate(s).error.find("overwrites slice"), std::string::npos);
}

}  // namespace
}  // namespace weft
