# The host platform: kernels are ordinary C++ functions, the HIP runtime is our own (src/platform/host).
find_package(Threads REQUIRED)
add_library(weft_hip INTERFACE)  # what a HIP program compiles and links against
target_include_directories(weft_hip INTERFACE ${PROJECT_SOURCE_DIR}/src/platform/host/include)
target_link_libraries(weft_hip INTERFACE hiphost)
target_compile_definitions(weft_hip INTERFACE WEFT_HOST_LANES=${WEFT_HOST_LANES})

# weft_add_kernels(target source name [definition...]): compiles a source that holds kernels, as object library
# weft_kernels_<name>, into `target`. No contraction into fused multiply-adds: all ranks must round alike.
function(weft_add_kernels target source name)
  add_library(weft_kernels_${name} OBJECT ${source})
  target_compile_definitions(weft_kernels_${name} PRIVATE ${ARGN})
  # With sanitizers what is inlined grows several times; they look for faults, not for speed.
  target_compile_options(weft_kernels_${name} PRIVATE $<IF:$<BOOL:${WEFT_SANITIZE}>,-O1,-O3> -ffp-contract=off)
  target_include_directories(weft_kernels_${name} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_link_libraries(weft_kernels_${name} PRIVATE weft_hip)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:weft_kernels_${name}>)
endfunction()
