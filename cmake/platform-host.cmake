# The host platform: kernels are ordinary C++ functions, the HIP runtime is our own (src/platform/host).
find_package(Threads REQUIRED)
option(WEFT_HOST_INLINE_ALL "Inline all device functions into their kernels (tests/mutations)" OFF)
add_library(weft_hip INTERFACE)  # what a HIP program compiles and links against
target_include_directories(weft_hip INTERFACE ${PROJECT_SOURCE_DIR}/src/platform/host/include)
target_link_libraries(weft_hip INTERFACE hiphost)
target_compile_definitions(weft_hip INTERFACE WEFT_HOST_LANES=${WEFT_HOST_LANES}
                                              $<$<BOOL:${WEFT_HOST_INLINE_ALL}>:WEFT_HOST_INLINE_ALL>)
# No contraction into fused multiply-adds: all ranks must round alike. Of everything, since an inline function of the device
# code may be taken from any object that has it.
add_compile_options(-ffp-contract=off)

# weft_add_kernels(target source name [definition...]): compiles a source that holds kernels, as object library
# weft_kernels_<name>, into `target`.
function(weft_add_kernels target source name)
  add_library(weft_kernels_${name} OBJECT ${source})
  set_target_properties(weft_kernels_${name} PROPERTIES UNITY_BUILD OFF)  # one source each
  target_compile_definitions(weft_kernels_${name} PRIVATE ${ARGN})
  # With sanitizers what is inlined grows several times; they look for faults, not for speed.
  target_compile_options(weft_kernels_${name} PRIVATE $<IF:$<BOOL:${WEFT_SANITIZE}>,-O1,-O3>)
  target_include_directories(weft_kernels_${name} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_link_libraries(weft_kernels_${name} PRIVATE weft_hip)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:weft_kernels_${name}>)
endfunction()
