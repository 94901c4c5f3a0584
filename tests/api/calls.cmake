# Arguments of calls that move data, ops of a program, registered memory, windows.
add_executable(api_calls_test calls_main.cc bad_collectives_test.cc bad_all_to_all_v_test.cc bad_ops_test.cc
               register_test.cc)
target_link_libraries(api_calls_test PRIVATE weft_core GTest::gtest)
add_test(NAME api_calls COMMAND api_calls_test)
set_tests_properties(api_calls PROPERTIES LABELS quick TIMEOUT 120)
