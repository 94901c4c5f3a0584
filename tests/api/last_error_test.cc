// Whose error ncclGetLastError shows: last_error.h.
#include "last_error.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

void in_another_thread(auto body) { std::thread(body).join(); }

TEST(LastError, IsThatOfThisThread) {
  set_last_error("mine");
  in_another_thread([] { set_last_error("theirs"); });
  EXPECT_EQ(last_error(), "mine");
}

TEST(LastError, OfTheProcessIsSeenByAThreadWithoutOne) {
  set_last_error("first");
  in_another_thread([] { set_last_error("second"); });
  in_another_thread([] { EXPECT_EQ(last_error(), "second"); });
}

TEST(LastError, OfTheProcessIsSeenOnceThisThreadsIsCleared) {
  set_last_error("mine");
  in_another_thread([] { set_last_error("of a helper thread"); });
  clear_thread_error();
  EXPECT_EQ(last_error(), "of a helper thread");
}

TEST(LastError, TextStaysUntilThisThreadAsksAgain) {
  set_last_error("one");
  const char* text = last_error_text();
  set_last_error("two");
  in_another_thread([] { EXPECT_STREQ(last_error_text(), "two"); });
  EXPECT_STREQ(text, "one");
  EXPECT_STREQ(last_error_text(), "two");
}

TEST(LastError, LongTextIsCut) {
  set_last_error(std::string(3 * kLastErrorBytes, 'x'));
  EXPECT_EQ(last_error(), std::string(kLastErrorBytes - 1, 'x'));
}

TEST(LastError, ManyThreadsMayWriteAndRead) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      const std::string mine(100 + t, static_cast<char>('a' + t));
      for (int round = 0; round < kRounds; ++round) {
        set_last_error(mine);
        EXPECT_EQ(last_error(), mine);
        clear_thread_error();
        const std::string whole = last_error();  // of some thread, never a mixture
        EXPECT_EQ(whole, std::string(whole.size(), whole.front()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft
