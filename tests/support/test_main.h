// main() of tests with ranks: more simulated devices than the default, and an end for a test that
// hangs: the signal kills the program and the last line printed names the test. A test that starts
// its own program again (child_processes.h) names what the program then does: a role.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <initializer_list>
#include <string>
#include <vector>

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

// `program <name> <argument>...` is run(arguments), the exit status; anything else runs the tests.
struct Role {
  std::string name;
  int (*run)(const std::vector<std::string>& arguments);
};

inline int test_main(int argc, char** argv, std::initializer_list<Role> roles) {
  set_test_environment();
  for (const Role& role : roles)
    if (argc > 1 && role.name == argv[1]) try {
        return role.run({argv + 2, argv + argc});
      } catch (const std::exception& error) {
        fprintf(stderr, "%s: %s\n", argv[1], error.what());
        return 1;
      }
  return run_tests(argc, argv);
}

}  // namespace weft::test
