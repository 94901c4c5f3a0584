// Schedules read from XML: right ones pass, each kind of wrong one is refused with its reason, and
// changed text never does more than be refused.
#include "algorithms/schedule/schedule.h"

#include <gtest/gtest.h>

#include <random>

#include "../support/schedule_xml.h"
#include "error.h"
#include "seed.h"

namespace weft {
namespace {

using namespace test;

constexpr int kSlots = 2;

TEST(Schedule, RightOnesPass) {
  for (int n = 2; n <= 12; ++n) {
    EXPECT_EQ(check_schedule(read_schedule(ring_all_reduce(n)), kSlots), "") << n;
    EXPECT_EQ(check_schedule(read_schedule(all_pairs_all_reduce(n)), kSlots), "") << n;
    EXPECT_EQ(check_schedule(read_schedule(all_gather(n)), kSlots), "") << n;
    EXPECT_EQ(check_schedule(read_schedule(all_to_all(n)), kSlots), "") << n;
    EXPECT_EQ(check_schedule(read_schedule(reduce_scatter(n)), kSlots), "") << n;
  }
  EXPECT_EQ(check_schedule(read_schedule(ring_all_reduce(64)), kSlots), "");
}

TEST(Schedule, SaysWhatItRead) {
  const Schedule schedule = read_schedule(all_pairs_all_reduce(4));
  EXPECT_EQ(schedule.name, "t");
  EXPECT_EQ(schedule.collective, Collective::kAllReduce);
  ASSERT_EQ(schedule.places.size(), 4u);
  EXPECT_EQ(schedule.places[1].scratch_chunks, 3);
  ASSERT_EQ(schedule.places[1].blocks.size(), 4u);
  EXPECT_EQ(schedule.places[1].blocks[0].send_to, 2);
  EXPECT_EQ(schedule.places[1].blocks[0].steps[2].after_block, 3);
  EXPECT_TRUE(schedule.places[1].blocks[3].steps[2].adds_to_target);
}

std::string refusal(const std::string& xml) {
  try {
    return check_schedule(read_schedule(xml), kSlots);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclInvalidUsage);
    return error.text();
  }
}

struct Change {
  std::string what, by, error;
};

void expect_refused(const std::string& right, const std::vector<Change>& changes) {
  ASSERT_EQ(refusal(right), "");
  for (const Change& change : changes) {
    const std::string error = refusal(changed(right, change.what, change.by));
    EXPECT_NE(error.find(change.error), std::string::npos)
        << change.what << " -> " << change.by << ": \"" << error << "\"";
  }
}

TEST(Schedule, TextThatIsWrongIsRefused) {
  expect_refused(
      ring_all_reduce(4),
      {{"</algo>", "", "not XML"},
       {"<algo", "<algo x", "not XML"},
       {"ngpus=\"4\"", "ngpus=\"5\"", "ngpus is 5, but there are 4"},
       {"ngpus=\"4\"", "ngpus=\"65\"", "/algo: ngpus=\"65\" is not a number from 1 to 64"},
       {"ngpus=\"4\"", "ngpus=\"4x\"", "is not a number"},
       {"ngpus=\"4\"", "", "ngpus is missing"},
       {"allreduce", "allscan", "is none of allreduce, allgather"},
       {"inplace=\"1\" outofplace=\"1\"", "inplace=\"0\" outofplace=\"0\"", "neither"},
       {"<gpu id=\"1\"", "<gpu id=\"2\"", "/algo/gpu 2: expected id=\"1\""},
       {"<gpu id=\"1\"", "<cpu id=\"1\"", "not XML"},
       {"i_chunks=\"4\"", "i_chunks=\"3\"", "i_chunks is 3, expected 4"},
       {"send=\"1\"", "send=\"0\"", "talks to its own gpu"},
       {"send=\"1\"", "send=\"4\"", "is not a number from -1 to 3"},
       {"send=\"1\"", "send=\"-1\"", "/algo/gpu 0/tb 0/step 0: sends, but its tb has no send"},
       {"recv=\"3\"", "recv=\"-1\"", "receives, but its tb has no recv"},
       {"chan=\"0\"", "chan=\"1\"", "is not a number from 0 to 0"},
       {"type=\"rrs\"", "type=\"rrx\"", "is none of s, r, rcs"},
       {"srcbuf=\"i\"", "srcbuf=\"j\"", "is none of i, o, s"},
       {"srcbuf=\"i\"", "srcbuf=\"s\"", "s has 0 chunks"},
       {"srcoff=\"3\"", "srcoff=\"4\"", "i has 4 chunks"},
       {"cnt=\"1\"", "cnt=\"0\"", "is not a number"},
       {"depid=\"-1\"", "depid=\"0\"", "depid without deps"},
       {"depid=\"-1\" deps=\"-1\"", "depid=\"1\" deps=\"0\"", "depends on step 0 of tb 1"}});
  expect_refused(all_pairs_all_reduce(4),
                 {{"<tb id=\"1\" send=\"2\"", "<tb id=\"1\" send=\"1\"", "two tbs send to gpu 1"},
                  {"recv=\"2\"", "recv=\"1\"", "two tbs receive from gpu 1"}});
}

TEST(Schedule, WrongSchedulesAreRefused) {
  expect_refused(
      ring_all_reduce(4),
      {{"type=\"rrs\"", "type=\"rcs\"", "in place: gpu 0: output chunk 3"},
       {"type=\"rrcs\" srcbuf=\"i\"", "type=\"rcs\" srcbuf=\"i\"", "holds chunk"},
       {"type=\"rrs\" srcbuf=\"i\" srcoff=\"3\"", "type=\"rrs\" srcbuf=\"i\" srcoff=\"2\"",
        "reduces chunks"},
       {"type=\"rcs\" srcbuf=\"o\"", "type=\"r\" srcbuf=\"o\"", "deadlock: waits for a message"},
       {"type=\"s\" srcbuf=\"i\"", "type=\"s\" srcbuf=\"o\"", "holds nothing yet"},
       {"type=\"s\" srcbuf=\"i\"", "type=\"nop\" srcbuf=\"i\"", "in place: "}});
  expect_refused(
      all_pairs_all_reduce(4),
      {{"depid=\"0\" deps=\"1\"", "depid=\"-1\" deps=\"-1\"", "holds nothing yet"},
       // The sum is sent before it stands, or while it is made.
       {"depid=\"3\" deps=\"6\"", "depid=\"-1\" deps=\"-1\"", "touches"},
       {"depid=\"3\" deps=\"6\"", "depid=\"3\" deps=\"4\"", "touches o[0]"},
       {"depid=\"0\" deps=\"1\"", "depid=\"0\" deps=\"2\"", "deadlock: waits for another tb"},
       {"type=\"re\"", "type=\"nop\"", "output chunk 0 holds"},
       {"type=\"re\"", "type=\"cpy\"", "output chunk 0 holds"}});
  expect_refused(all_gather(4),
                 {{"outofplace=\"0\"", "outofplace=\"1\"", "out of place: gpu 0: output chunk 0"},
                  {"dstoff=\"3\"", "dstoff=\"2\"", "touches"}});
  const std::string apart = changed(ring_all_reduce(4), "inplace=\"1\"", "inplace=\"0\"");
  expect_refused(apart, {{"dstbuf=\"o\"", "dstbuf=\"i\"", "writes the input"}});
  // Without the order between the blocks, what comes may overwrite what is still to be sent.
  std::string unordered = all_to_all(4);
  const size_t from = unordered.find("depid=\"2\" deps=\"0\"");
  ASSERT_NE(from, std::string::npos);
  unordered.replace(from, 18, "depid=\"-1\" deps=\"-1\"");
  EXPECT_NE(refusal(unordered).find("in place: gpu 0 tb"), std::string::npos) << refusal(unordered);
}

TEST(Schedule, AFlowThatIsTooShallowDeadlocks) {
  // Two messages each way before either side receives.
  Xml xml("allgather", 2, 4, 1, false);
  for (int p = 0; p < 2; ++p) {
    xml.gpu(p, 2, 4, 0);
    xml.block(0, 1 - p, 1 - p);
    for (int i = 0; i < 2; ++i) xml.add("s", 'i', i, 'o', 2 * p + i);
    for (int i = 0; i < 2; ++i) xml.add("r", 'o', 2 - 2 * p + i, 'o', 2 - 2 * p + i);
    xml.end_block();
    xml.end_gpu();
  }
  const Schedule schedule = read_schedule(xml.end());
  EXPECT_EQ(check_schedule(schedule, 2), "");
  EXPECT_NE(check_schedule(schedule, 1).find("deadlock: waits for room"), std::string::npos);
}

TEST(Schedule, ChangedTextIsReadOrRefused) {
  std::mt19937_64 random(test_seed());
  const std::string texts[] = {ring_all_reduce(3), all_pairs_all_reduce(3), all_to_all(3)};
  const std::string letters = "0123456789-ios\"<>/= rc";
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = texts[i % 3];
    for (int k = 0; k < 1 + i % 2; ++k)
      text[random() % text.size()] = letters[random() % letters.size()];
    refused += !refusal(text).empty();
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace weft
