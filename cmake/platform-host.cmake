# The host platform: kernels are ordinary C++ functions, the HIP runtime is our own (src/platform/host).
find_package(Threads REQUIRED)
add_library(weft_hip INTERFACE)  # what a HIP program compiles and links against
target_include_directories(weft_hip INTERFACE ${PROJECT_SOURCE_DIR}/src/platform/host/include)
target_link_libraries(weft_hip INTERFACE hiphost)
target_compile_definitions(weft_hip INTERFACE WEFT_HOST_LANES=${WEFT_HOST_LANES})

# weft_add_kernels(target source...): compiles device code into `target`.
function(weft_add_kernels target)
  target_sources(${target} PRIVATE ${ARGN})
endfunction()
