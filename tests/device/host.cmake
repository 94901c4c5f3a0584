# Tests of the host platform's HIP runtime (src/platform/host): one executable, linked to nothing of the library above, which also
# plays the other processes; and a program that has a (fake) real HIP runtime loaded.
if(WEFT_PLATFORM STREQUAL "host")
  add_library(host_runtime_fake_amdhip SHARED host_runtime_fake_amdhip.cc)
  set_target_properties(host_runtime_fake_amdhip PROPERTIES OUTPUT_NAME amdhip64 SOVERSION 6
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake_amdhip)
  add_executable(host_runtime_clash host_runtime_clash.cc)
  target_link_libraries(host_runtime_clash PRIVATE weft_hip host_runtime_fake_amdhip)

  add_executable(host_runtime_test
    host_runtime_main.cc host_runtime_roles.cc host_runtime_c.c host_runtime_capture_test.cc
    host_runtime_device_test.cc host_runtime_fault_test.cc host_runtime_kernel_test.cc
    host_runtime_memory_test.cc host_runtime_process_test.cc host_runtime_stream_test.cc)
  target_link_libraries(host_runtime_test PRIVATE weft_hip GTest::gtest Threads::Threads)
  target_compile_definitions(host_runtime_test
                             PRIVATE HOST_RUNTIME_CLASH="$<TARGET_FILE:host_runtime_clash>")
  add_dependencies(host_runtime_test host_runtime_clash)
  add_test(NAME host_runtime_test COMMAND host_runtime_test)
  set_tests_properties(host_runtime_test PROPERTIES LABELS "quick;ci" TIMEOUT 300)
endif()
