weft_test(cost_file_fuzz_test LABELS quick TIMEOUT 30 SOURCES cost_file_fuzz_test.cc)
