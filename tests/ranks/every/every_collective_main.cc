// The program of the tests of every collective, and of the processes that they start.
#include "../../support/test_main.h"
#include "counters_process.h"
#include "mismatch_process.h"
#include "random_process.h"
#include "zero_copy_process.h"

int main(int argc, char** argv) {
  using namespace weft::test;
  return test_main(argc, argv,
                   {{"random", run_random_process},
                    {"counters", run_counters},
                    {"mismatch", run_mismatch},
                    {"zero_copy", run_zero_copy}});
}
