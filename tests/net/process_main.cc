// main() of tests whose ranks are processes: "--role name args..." runs that role, anything else
// runs GoogleTest.
#include <gtest/gtest.h>

#include <cstdio>

#include "ranks.h"

int main(int argc, char** argv) {
  using namespace weft::test;
  if (argc >= 3 && std::string(argv[1]) == "--role") {
    try {
      return roles().at(argv[2])({argv + 3, argv + argc});
    } catch (const std::exception& error) {
      printf("%s\n", error.what());
      fflush(stdout);
      return 1;
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
