// Who is in which part of a split, and in which order; ops and registrations without a device.
#include <gtest/gtest.h>

#include <climits>

#include "registration.h"
#include "split.h"
#include "user_ops.h"

namespace weft {
namespace {

using Ranks = std::vector<int>;

TEST(SplitMembers, ByKeyThenByOldRank) {
  const std::vector<SplitVote> votes = {{0, 5, 0}, {1, 0, 0},  {0, -3, 0},       {0, 5, 0},
                                        {1, 0, 0}, {0, 4, 0},  {-1, INT_MIN, 0}, {0, INT_MIN, 0},
                                        {7, 1, 0}, {1, -1, 0}, {-1, 0, 0}};
  EXPECT_EQ(split_members(votes, 0), (Ranks{7, 2, 5, 0, 3}));
  EXPECT_EQ(split_members(votes, 1), (Ranks{9, 1, 4}));
  EXPECT_EQ(split_members(votes, 7), (Ranks{8}));
  EXPECT_EQ(split_members(votes, 3), (Ranks{}));
}

TEST(SplitMembers, Colours) {
  for (const int color : {0, 1, INT_MAX, int(NCCL_SPLIT_NOCOLOR)})
    EXPECT_NO_THROW(require_color(color));
  for (const int color : {-2, INT_MIN}) EXPECT_THROW(require_color(color), Error);
}

TEST(UserOps, NumbersAreOfOneCommunicatorAndUsedOnce) {
  UserOps here, there;
  const UserOp op{ncclFloat32, false, 7};
  const ncclRedOp_t first = here.add(op), second = here.add(op), other = there.add(op);
  EXPECT_GE(int(first), int(ncclNumOps));
  EXPECT_NE(first, second);
  EXPECT_NE(first, other);
  EXPECT_NE(second, other);
  ASSERT_TRUE(here.find(first));
  EXPECT_EQ(here.find(first)->scalar, 7u);
  EXPECT_FALSE(here.find(other));
  EXPECT_FALSE(here.remove(other));
  EXPECT_TRUE(here.remove(first));
  EXPECT_FALSE(here.remove(first));
  EXPECT_FALSE(here.find(first));
  EXPECT_TRUE(here.find(second));
  EXPECT_NE(here.add(op), first);
}

TEST(Registrations, FoundByWhatTheyHold) {
  Registrations all;
  void* handle = all.add({1000, 100});
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(all.find(1000, 100));
  EXPECT_TRUE(all.find(1099, 1));
  EXPECT_TRUE(all.find(1100, 0));
  EXPECT_FALSE(all.find(999, 2));
  EXPECT_FALSE(all.find(1099, 2));
  EXPECT_FALSE(all.find(1000, 101));
  EXPECT_FALSE(all.find(1050, SIZE_MAX));
  void* again = all.add({1000, 100});
  EXPECT_NE(again, handle);
  EXPECT_TRUE(all.remove(handle));
  EXPECT_FALSE(all.remove(handle));
  EXPECT_TRUE(all.find(1000, 100));
  EXPECT_TRUE(all.remove(again));
  EXPECT_FALSE(all.find(1000, 100));
  EXPECT_FALSE(all.remove(nullptr));
}

}  // namespace
}  // namespace weft
