# Every collective: random operations, the matrix of what there is, mismatched calls, counters that
# wrap, cases that people reported. One program; names that start with Ci run in the longer set,
# with Soak in scripts/soak.
file(GLOB every_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/every/*.cc)
add_executable(every_collective_test ${every_sources})
target_compile_options(every_collective_test PRIVATE -O1)  # as weft_test()
target_link_libraries(every_collective_test PRIVATE weft_core GTest::gtest)
function(every_entry name filter label timeout)
  add_test(NAME every_${name} COMMAND every_collective_test --gtest_filter=${filter})
  set_tests_properties(every_${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout})
endfunction()
every_entry(random "RandomOperations.*-*.Ci*:*.Soak*" quick 480)
every_entry(zero_copy "ZeroCopy.*" quick 480)
every_entry(others "*-RandomOperations.*:ZeroCopy.*:*.Ci*:*.Soak*" quick 480)
every_entry(random_ci "RandomOperations.Ci*" ci 600)
every_entry(others_ci "*.Ci*-RandomOperations.*" ci 600)
every_entry(random_soak "RandomOperations.Soak*" soak 36000)
every_entry(others_soak "*.Soak*-RandomOperations.*" soak 36000)
