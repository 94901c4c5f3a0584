# Communicators split off others; what a program's own ops compute.
add_executable(split_test split_main.cc split_test.cc user_ops_test.cc all_to_all_v_test.cc)
target_link_libraries(split_test PRIVATE weft_core GTest::gtest)
add_test(NAME split COMMAND split_test)
set_tests_properties(split PROPERTIES LABELS quick TIMEOUT 240)
