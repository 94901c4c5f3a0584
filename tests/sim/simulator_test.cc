// The simulator itself: it must see patterns that are wrong, each in its own way, and say so.
#include <gtest/gtest.h>

#include "algorithms/simulate.h"
#include "algorithms/sub_steps.h"

namespace weft {
namespace {

constexpr int kPlaces = 5;

struct Break {
  const char* name;
  PatternId pattern;
  void (*change)(Step& step, int place, int hop);
  const char* error;  // part of it
};

void PrintTo(const Break& broken, std::ostream* out) { *out << broken.name; }

class Broken : public ::testing::TestWithParam<Break> {};

TEST_P(Broken, IsSeen) {
  Simulation s;
  s.places = kPlaces;
  s.programs = {program_of(GetParam().pattern, kPlaces, 1)};
  s.fifo_slots = 4;
  ASSERT_EQ(simulate(s).error, "");
  const auto right = s.programs[0].step;
  s.programs[0].step = [&, right](int place, int hop) {
    Step step = right(place, hop);
    GetParam().change(step, place, hop);
    return step;
  };
  const std::string error = simulate(s).error;
  EXPECT_NE(error.find(GetParam().error), std::string::npos) << error;
}

Peers next(int place) { return Peers::one((place + 1) % kPlaces); }

const Break kBreaks[] = {
    {"AContributionIsLost", PatternId::kRingAllReduce,
     [](Step& step, int, int hop) { step.read_input &= hop != 2; }, "output chunk"},
    {"OneIsTakenTwice", PatternId::kRingAllReduce,
     [](Step& step, int, int hop) { step.read_input |= hop == kPlaces; }, "taken twice"},
    {"AnotherChunkThanWasSent", PatternId::kRingAllReduce,
     [](Step& step, int, int hop) { step.chunk = (step.chunk + (hop == 3)) % kPlaces; },
     "received chunk"},
    {"TheLastChunkIsNotKept", PatternId::kRingAllReduce,
     [](Step& step, int, int hop) { step.write_output &= hop != 2 * kPlaces - 2; },
     "gives it to nobody"},
    {"FinishedTooEarly", PatternId::kRingAllReduce,
     [](Step& step, int, int hop) { step.finish |= hop == 1; }, "finished"},
    {"NeverFinished", PatternId::kRingAllReduce,
     [](Step& step, int, int hop) { step.finish &= hop != kPlaces - 1; }, "expected chunk"},
    {"OnePlaceDoesNotSend", PatternId::kRingAllReduce,
     [](Step& step, int place, int hop) {
       if (place == 2 && hop == 2) step.send = Peers::none();
     },
     "gives it to nobody"},
    {"EverybodyWaitsFirst", PatternId::kRingAllReduce,
     [](Step& step, int place, int hop) {
       if (hop == 0) step.recv = Peers::one((place + kPlaces - 1) % kPlaces);
     },
     "deadlock: waits for data from"},
    {"TalksToItself", PatternId::kRingAllReduce,
     [](Step& step, int place, int hop) {
       if (hop == 1) step.send = Peers::one(place);
     },
     "talks to itself"},
    {"TalksToNobodyThere", PatternId::kRingAllReduce,
     [](Step& step, int, int hop) {
       if (hop == 1) step.send = Peers::one(kPlaces);
     },
     "no such place"},
    {"SendsTwiceToOne", PatternId::kRingAllReduce,
     [](Step& step, int place, int hop) {
       if (hop == 1) step.send.add((place + 1) % kPlaces);
     },
     "the same place twice"},
    {"AMessageTooMany", PatternId::kOneShotAllReduce,
     [](Step& step, int place, int hop) {
       if (hop == 1 && place == 3) step.send = next(place);
     },
     "does not take a message"},

    {"AFoldWithoutOne", PatternId::kOneShotAllReduce,
     [](Step& step, int place, int hop) {
       if (hop == 1 && place == 3) step.recv = Peers::others_but(0);
     },
     "of 0x1e finished"},
    {"AFoldWithoutMine", PatternId::kOneShotAllReduce,
     [](Step& step, int place, int hop) { step.read_input &= place != 3 || hop != 1; },
     "of 0x17 finished"},
    {"AFoldOfOtherChunks", PatternId::kDirectReduceScatter,
     [](Step& step, int place, int hop) {
       if (hop == 1 && place == 3) step.chunk = 2;
     },
     "expected chunk 2"},

    {"ByPeerWithoutOne", PatternId::kTwoShotAllReduce,
     [](Step& step, int place, int hop) {
       if (hop == 2 && place == 0) step.recv = Peers::others_but(4);
     },
     "does not take a message"},
    {"NotByPeer", PatternId::kTwoShotAllReduce,
     [](Step& step, int place, int hop) { step.by_peer &= hop != 0 || place != 0; },
     "received chunk 0"},
    {"ByPeerBothWays", PatternId::kTwoShotAllReduce,
     [](Step& step, int, int hop) { step.by_peer |= hop == 1; }, "sends and receives"},
    {"ByPeerWithASum", PatternId::kTwoShotAllReduce,
     [](Step& step, int, int hop) { step.read_input |= hop == 2; }, "would reduce"},
    {"ByPeerNotKept", PatternId::kTwoShotAllReduce,
     [](Step& step, int place, int hop) { step.write_output &= hop != 2 || place != 4; },
     "gives it to nobody"},
    {"ByPeerMyOwnIsNotKept", PatternId::kDirectAllToAll,
     [](Step& step, int place, int hop) { step.write_output &= hop != 0 || place != 4; },
     "0 slices of chunk 4"},
    {"AnotherSegment", PatternId::kDirectAllToAll,
     [](Step& step, int place, int hop) {
       if (hop == 0) step.by_peer = false, step.write_output = true, step.chunk = place;
     },
     "output chunk"},
    {"ReadAfterItWasWrittenInPlace", PatternId::kDirectAllToAll,
     [](Step& step, int place, int hop) {
       step.read_input = hop == 1;
       step.send = step.recv = Peers::none();
       (hop == 1 ? step.send : step.recv) = Peers::others();
       if (place == 0) return;
       step.read_input = hop == 0;
       step.send = step.recv = Peers::none();
       (hop == 0 ? step.send : step.recv) = Peers::others();
     },
     "overwritten in place"},

    {"AnotherReadsForTheRoot", PatternId::kDirectBroadcast,
     [](Step& step, int place, int hop) { step.read_input |= hop == 0 && place == 3; }, "reduces"},
    {"TheRootIsForgotten", PatternId::kDirectBroadcast,
     [](Step& step, int place, int hop) { step.write_output &= place != 1 || hop != 0; },
     "0 slices of chunk 2"},
    {"AnotherThanTheRootWrites", PatternId::kShardedReduce,
     [](Step& step, int place, int hop) { step.write_output |= place == 3 && hop == 1; },
     "output chunk 3"},
    {"SentToAnotherThanTheRoot", PatternId::kDirectGather,
     [](Step& step, int place, int hop) {
       if (hop == 0 && place == 3) step.send = next(place);
     },
     "deadlock"},
    {"AChunkThatIsNone", PatternId::kDirectScatter,
     [](Step& step, int place, int hop) { step.chunk += place == 4 && hop == 1; }, "no such chunk"},
    {"ATreeWithoutALeaf", PatternId::kTreeAllReduce,
     [](Step& step, int place, int hop) {
       if (place == 2 && hop == 0) step.recv = Peers::one(1);
     },
     "output chunk 0"},
};

INSTANTIATE_TEST_SUITE_P(Patterns, Broken, ::testing::ValuesIn(kBreaks),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Simulator, ChunksOfOtherSizesAreNotTakenForOneAnother) {
  // Both ways carry the same number of slices, but those of two loops.
  Simulation s;
  s.places = 2;
  s.programs = {program_of(PatternId::kRingAllGather, 2)};
  s.loops = 2;
  s.fifo_slots = 4;
  s.slices = [](int loop, int) { return 1 + loop; };
  EXPECT_EQ(simulate(s).error, "");
  EXPECT_EQ(simulate(s).messages, 2 * (1 + 2));
}

// All places turn to another one at the same time, and who is sent to first is who looks first.
TEST(Simulator, MovesByPeerGoRound) {
  const auto moves = [](int place, int hop) {
    std::vector<SubStep> all;
    add_sub_steps(all, DirectAllToAll::step({place, kPlaces, 0}, hop), place, kPlaces, hop);
    return all;
  };
  for (int place = 0; place < kPlaces; ++place)
    for (int k = 0; k < kPlaces - 1; ++k) {
      EXPECT_EQ(moves(place, 0)[k].send, std::vector<int>{(place + 1 + k) % kPlaces});
      EXPECT_EQ(moves((place + 1 + k) % kPlaces, 1)[k].recv, std::vector<int>{place});
    }
}

TEST(Simulator, LongestPathIsThatOfTheData) {
  for (int n = 2; n <= 64; ++n) {
    Simulation s;
    s.places = n;
    s.programs = {program_of(PatternId::kRingAllReduce, n)};
    s.fifo_slots = 2;
    EXPECT_EQ(simulate(s).longest_path, 2 * (n - 1)) << n;
  }
}

}  // namespace
}  // namespace weft
