weft_test(bootstrap_fuzz_test LABELS quick TIMEOUT 30 SOURCES bootstrap_fuzz_test.cc)
