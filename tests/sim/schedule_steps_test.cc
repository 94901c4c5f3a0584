// Schedules as steps of the engine: what they become, and which cannot be said so. That the steps
// are right is shown by the simulation that steps_of() runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>

#include "../support/expect_error.h"
#include "../support/schedule_xml.h"
#include "algorithms/schedule/steps.h"
#include "error.h"
#include "seed.h"

namespace weft {
namespace {

using namespace test;

void expect_steps(const std::string& xml, Collective collective, int hops, bool in_rank_order) {
  const ScheduleSteps steps = load_schedule(xml);
  EXPECT_EQ(steps.collective, collective);
  EXPECT_EQ(steps.hops, hops) << steps.places();
  EXPECT_EQ(steps.in_rank_order, in_rank_order) << steps.places();
  EXPECT_EQ(steps.protocol, Protocol::kSimple);
}

// As many steps as a pattern that does the same, but for sends by peer.
TEST(ScheduleSteps, NoMoreThanAPatternHas) {
  for (int n = 2; n <= 12; ++n) {
    SCOPED_TRACE(n);
    expect_steps(ring_all_reduce(n), Collective::kAllReduce, 2 * n - 1, n == 2);
    expect_steps(all_pairs_all_reduce(n), Collective::kAllReduce, 2 * n - 1, true);
    expect_steps(all_gather(n), Collective::kAllGather, n, true);
    expect_steps(all_to_all(n), Collective::kAllToAll, 2 * n - 1, true);
    expect_steps(reduce_scatter(n), Collective::kReduceScatter, n, n == 2);
  }
}

TEST(ScheduleSteps, OneFoldOfAllPairs) {
  const ScheduleSteps steps = load_schedule(all_pairs_all_reduce(4));
  const auto folds = [](const Step& step) { return step.finish; };
  for (const auto& list : steps.steps) {
    const auto fold = std::find_if(list.begin(), list.end(), folds);
    ASSERT_NE(fold, list.end());
    EXPECT_TRUE(fold->recv.is_others());
    EXPECT_TRUE(fold->send.is_others());
    EXPECT_TRUE(fold->read_input && fold->write_output);
    EXPECT_EQ(std::count_if(list.begin(), list.end(), folds), 1);
  }
}

TEST(ScheduleSteps, EqualTextsHaveEqualNumbers) {
  EXPECT_EQ(load_schedule(ring_all_reduce(4)).id, load_schedule(ring_all_reduce(4)).id);
  EXPECT_NE(load_schedule(ring_all_reduce(4)).id, load_schedule(ring_all_reduce(5)).id);
}

void expect_error_names(const std::string& xml, const std::vector<std::string>& parts) {
  try {
    (void)load_schedule(xml);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclInvalidUsage);
    expect_text(error.text(), parts);
  }
}

// Both send what they have, then add what came to it and send that.
std::string a_sum_sent_on_the_way(int n) {
  Xml xml("allreduce", n, 1, 2, true);
  for (int p = 0; p < n; ++p) {
    xml.gpu(p, 1, 1, 1);
    for (int k = 0; k < 2; ++k) {
      xml.block(k, p ^ (1 << k), p ^ (1 << k), k);
      if (k == 0) xml.add("s", 'i', 0, 'i', 0);
      if (k == 0) xml.add("rrc", 'i', 0, 's', 0);
      if (k == 1) xml.add("s", 's', 0, 'i', 0, 0, 1);
      if (k == 1) xml.add("rrc", 's', 0, 'o', 0);
      xml.end_block();
    }
    xml.end_gpu();
  }
  return xml.end();
}

TEST(ScheduleSteps, WhatCannotBeSaidIsRefused) {
  expect_error_names(a_sum_sent_on_the_way(4), {"schedule t", "gpu 0", "adds to it later"});
  expect_error_names(changed(ring_all_reduce(4), "\"Simple\"", "\"LL256\""),
                     {"no protocol \"LL256\""});
  Xml two("allgather", 2, 4, 1, false);
  for (int p = 0; p < 2; ++p) {
    two.gpu(p, 2, 4, 0);
    two.block(0, 1 - p, 1 - p);
    for (int i = 0; i < 2; ++i) two.add("s", 'i', i, 'o', 2 * p + i);
    for (int i = 0; i < 2; ++i) two.add("r", 'o', 2 - 2 * p + i, 'o', 2 - 2 * p + i);
    two.end_block();
    two.end_gpu();
  }
  expect_error_names(two.end(), {"nchunksperloop is not ngpus"});
}

TEST(ScheduleSteps, WrongSchedulesAreRefusedBefore) {
  expect_error_names(changed(ring_all_reduce(4), "type=\"rrs\"", "type=\"nop\""),
                     {"schedule t", "gpu"});
}

TEST(ScheduleSteps, ChangedTextGivesRightStepsOrIsRefused) {
  std::mt19937_64 random(test_seed());
  const std::string texts[] = {ring_all_reduce(3), all_pairs_all_reduce(4), all_to_all(3)};
  const std::string digits = "0123";
  int right = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = texts[i % 3];
    size_t at = random() % text.size();
    while (!std::isdigit(static_cast<unsigned char>(text[at]))) at = (at + 1) % text.size();
    text[at] = digits[random() % digits.size()];
    try {
      right += load_schedule(text).hops > 0;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ncclInvalidUsage);
    }
  }
  EXPECT_GT(right, 300);
  EXPECT_LT(right, 2700);
}

}  // namespace
}  // namespace weft
