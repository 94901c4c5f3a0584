// The program of the tests of calls and lives; as `api_spine_test exit <how>` it is a process that
// ends while it has a communicator (life_test.cc).
#include <cstring>

#include "../support/test_main.h"
#include "exit_roles.h"

int main(int argc, char** argv) {
  weft::test::set_test_environment();
  if (argc == 3 && std::strcmp(argv[1], "exit") == 0) return weft::test::exit_with(argv[2]);
  return weft::test::run_tests(argc, argv);
}
