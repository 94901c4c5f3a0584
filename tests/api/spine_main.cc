// The program of the tests of calls and lives, and of the processes that they start.
#include "../support/test_main.h"
#include "exit_roles.h"

int main(int argc, char** argv) {
  using namespace weft::test;
  return test_main(argc, argv, {{"exit", exit_with}, {"abort_rank", abort_rank}});
}
