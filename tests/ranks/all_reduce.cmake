# AllReduce end to end. One program; the cases whose names start with Ci run in the longer set.
add_executable(all_reduce_test all_reduce_main.cc all_reduce_test.cc all_reduce_processes_test.cc
               all_reduce_groups_test.cc)
target_compile_options(all_reduce_test PRIVATE -O1)  # as weft_test()
target_link_libraries(all_reduce_test PRIVATE weft_core GTest::gtest)
function(all_reduce_entry name filter label timeout)
  add_test(NAME ${name} COMMAND all_reduce_test --gtest_filter=${filter})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout})
endfunction()
all_reduce_entry(all_reduce_threads "AllReduce.*-*.Ci*" quick 600)
all_reduce_entry(all_reduce_processes "AllReduceProcesses.*-*.Ci*" quick 600)
all_reduce_entry(all_reduce_together "-AllReduce*:*.Ci*" quick 600)
all_reduce_entry(all_reduce_ci "*.Ci*" ci 600)
