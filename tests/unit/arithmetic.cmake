# Conversions, operations and packs of src/device (types.h, reduce.h, pack.h).
weft_test(arithmetic LABELS quick TIMEOUT 60
          SOURCES arithmetic_convert_test.cc arithmetic_reduce_test.cc arithmetic_average_test.cc arithmetic_pack_test.cc)
