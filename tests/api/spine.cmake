# Calls and lives of communicators. One program; the cases whose names start with Ci run in the longer set.
add_executable(api_spine_test spine_main.cc abort_processes_test.cc bad_calls_test.cc cost_file_test.cc failures_test.cc faults_test.cc
               life_test.cc no_threads_test.cc thread_budget.cc)
target_compile_options(api_spine_test PRIVATE -O1)  # as weft_test()
target_link_libraries(api_spine_test PRIVATE weft_core GTest::gtest)
add_test(NAME api_spine COMMAND api_spine_test --gtest_filter=-*.Ci*)
set_tests_properties(api_spine PROPERTIES LABELS quick TIMEOUT 400)
add_test(NAME api_spine_ci COMMAND api_spine_test --gtest_filter=*.Ci*)
set_tests_properties(api_spine_ci PROPERTIES LABELS ci TIMEOUT 600)
