# What a communicator keeps for its program: ops, registrations; who is in which part of a split.
weft_test(host_tables_test LABELS quick TIMEOUT 30 SOURCES host_tables_test.cc)
