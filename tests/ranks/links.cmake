# The arena and the links between ranks of a host.
weft_test(arena_test LABELS quick TIMEOUT 60 SOURCES arena_test.cc)
weft_test(rank_info_test LABELS quick TIMEOUT 30 SOURCES rank_info_test.cc)
weft_test(descriptor_test LABELS quick TIMEOUT 30 SOURCES descriptor_test.cc)
weft_test(links_threads_test LABELS quick TIMEOUT 120 SOURCES links_threads_test.cc)
weft_test(links_processes_test LABELS quick TIMEOUT 180 SOURCES links_processes_test.cc)
