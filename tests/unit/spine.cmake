# What an init and a call are decided by, before anything runs: the caller's options, sizes, rules, reductions.
weft_test(spine_test LABELS quick TIMEOUT 30
          SOURCES comm_options_test.cc geometry_test.cc select_test.cc cost_table_test.cc reduction_test.cc request_test.cc)
