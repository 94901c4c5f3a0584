// The program of the tests of arguments.
#include "../support/test_main.h"

int main(int argc, char** argv) { return weft::test::test_main(argc, argv, {}); }
