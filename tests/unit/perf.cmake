# weft-perf (tools/weft-perf): its parts, and the program itself against a small collective library of the tests.
if(TARGET weft_perf)
  weft_test(perf_test LABELS quick TIMEOUT 120
            SOURCES perf_sizes_test.cc perf_pattern_test.cc perf_collectives_test.cc perf_launch_test.cc perf_table_test.cc
                    perf_cost_fit_test.cc
            LIBRARIES weft_perf)

  add_library(fake_ccl SHARED fake_ccl.cc)
  add_library(fake_ccl_slow SHARED fake_ccl.cc)
  target_compile_definitions(fake_ccl_slow PRIVATE FAKE_CCL_DELAY_US=300)
  foreach(fake fake_ccl fake_ccl_slow)
    target_include_directories(${fake} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    set_target_properties(${fake} PROPERTIES UNITY_BUILD OFF)  # one source
    target_link_libraries(${fake} PRIVATE weft_hip)
  endforeach()

  # The fake library reads device memory from the CPU, which only the host platform allows.
  if(WEFT_PLATFORM STREQUAL "host")
    weft_test(perf_run_test LABELS quick TIMEOUT 180 SOURCES perf_run_test.cc LIBRARIES weft_perf
              ENVIRONMENT "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0")
    add_dependencies(perf_run_test weft-perf fake_ccl fake_ccl_slow)
    target_compile_definitions(perf_run_test PRIVATE WEFT_PERF_PROGRAM="$<TARGET_FILE:weft-perf>"
                               FAKE_CCL="$<TARGET_FILE:fake_ccl>" FAKE_CCL_SLOW="$<TARGET_FILE:fake_ccl_slow>")

    weft_test(perf_calibrate_test LABELS quick TIMEOUT 180 SOURCES perf_calibrate_test.cc
              ENVIRONMENT "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0")
    add_dependencies(perf_calibrate_test weft-perf rccl fake_ccl)
    target_compile_definitions(perf_calibrate_test PRIVATE WEFT_PERF_PROGRAM="$<TARGET_FILE:weft-perf>"
                               RCCL_LIBRARY="$<TARGET_FILE:rccl>" FAKE_CCL="$<TARGET_FILE:fake_ccl>")
  endif()
endif()
