// main() of tests with ranks: more simulated devices than the default, and an end for a test that
// hangs: the signal kills the program and the last line printed names the test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace weft::test {

inline constexpr unsigned kHangSeconds = 240;

class HangGuard : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { alarm(kHangSeconds); }
  void OnTestEnd(const testing::TestInfo&) override { alarm(0); }
};

inline int run_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new HangGuard);
  return RUN_ALL_TESTS();
}

inline void set_test_environment() {
  setenv("WEFT_HOST_DEVICES", "16", 0);
  setenv("WEFT_INIT_TIMEOUT", "60", 0);
}

}  // namespace weft::test
