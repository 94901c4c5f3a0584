# Communicators come and go while a kernel of another waits; on GPUs two are needed.
add_executable(busy_init_test busy_init_test.cc)
target_compile_options(busy_init_test PRIVATE -O1)  # as weft_test()
target_link_libraries(busy_init_test PRIVATE weft_core GTest::gtest)
add_test(NAME busy_init_test COMMAND busy_init_test)
set_tests_properties(busy_init_test PROPERTIES LABELS quick TIMEOUT 300)
