# Reduction bandwidth of one core, by type and operation.
find_package(benchmark REQUIRED)
add_executable(arithmetic_bench arithmetic_bench.cc)
target_link_libraries(arithmetic_bench PRIVATE weft_core benchmark::benchmark benchmark::benchmark_main)
add_test(NAME arithmetic_bench COMMAND arithmetic_bench --benchmark_min_time=0.02)
set_tests_properties(arithmetic_bench PROPERTIES LABELS bench TIMEOUT 60)
