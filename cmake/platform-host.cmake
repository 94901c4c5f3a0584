# The host platform: kernels are ordinary C++ functions, the HIP runtime is our own (src/platform/host).
find_package(Threads REQUIRED)
add_library(weft_hip INTERFACE)  # what a HIP program compiles and links against
target_include_directories(weft_hip INTERFACE ${PROJECT_SOURCE_DIR}/src/platform/host/include)
target_link_libraries(weft_hip INTERFACE hiphost)
target_compile_definitions(weft_hip INTERFACE WEFT_HOST_LANES=${WEFT_HOST_LANES})

# weft_add_instance(target type): the kernels of one element type. No contraction into fused multiply-adds: ranks must agree.
function(weft_add_instance target type)
  set(name weft_kernels_${type})
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/src/device/instance.cc)
  target_compile_definitions(${name} PRIVATE WEFT_INSTANCE_TYPE=${type})
  target_compile_options(${name} PRIVATE -O3 -ffp-contract=off)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                                             ${PROJECT_SOURCE_DIR}/src/platform/host)
  target_link_libraries(${name} PRIVATE weft_hip)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()
