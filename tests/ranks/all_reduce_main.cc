// The program of the AllReduce tests, and of the processes that they start.
#include "../support/test_main.h"
#include "all_reduce_process.h"

int main(int argc, char** argv) {
  using namespace weft::test;
  return test_main(argc, argv, {{"rank", run_as_process}});
}
