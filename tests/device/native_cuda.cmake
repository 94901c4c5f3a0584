# Conversions by instruction against the portable text, on a GPU.
if(WEFT_PLATFORM STREQUAL "nvidia")
  weft_test(native_cuda_test LABELS gpu TIMEOUT 60 SOURCES native_cuda_test.cc)
  weft_add_kernels(native_cuda_test native_cuda_kernels.cc native_cuda)
endif()
