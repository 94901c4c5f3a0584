// The program of the AllReduce tests; as `all_reduce_test rank ...` it is one rank's process.
#include <cstring>

#include "../support/test_main.h"
#include "all_reduce_process.h"

int main(int argc, char** argv) {
  weft::test::set_test_environment();
  if (argc > 2 && std::strcmp(argv[1], "rank") == 0)
    return weft::test::run_as_process({argv + 2, argv + argc});
  return weft::test::run_tests(argc, argv);
}
