# What waiting and posting cost on the host platform.
if(WEFT_PLATFORM STREQUAL "host")
  find_package(benchmark REQUIRED)
  add_executable(host_ring_bench host_ring_bench.cc)
  target_link_libraries(host_ring_bench PRIVATE weft_hip benchmark::benchmark)
  add_test(NAME host_ring_bench COMMAND host_ring_bench --benchmark_min_time=0.01
           --benchmark_filter=bytes:1024/|launch_and_wait)
  set_tests_properties(host_ring_bench PROPERTIES LABELS "bench" TIMEOUT 60)
endif()

# What a call costs before its kernel is launched; it counts calls of malloc, which sanitizers replace.
if(WEFT_PLATFORM STREQUAL "host" AND NOT WEFT_SANITIZE)
  add_executable(host_path_bench host_path_bench.cc)
  target_link_libraries(host_path_bench PRIVATE rccl weft_hip)
  add_test(NAME host_path_bench COMMAND host_path_bench 3)
  set_tests_properties(host_path_bench PROPERTIES LABELS "ci" TIMEOUT 60)
endif()
