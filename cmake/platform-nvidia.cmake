# The nvidia platform: HIP's names over the CUDA runtime (src/platform/nvidia), kernels by nvcc.
#
# The runtime is linked in (cudart_static) and stays hidden behind exports.map. A program that the library is preloaded into
# brings its own libcudart, of another version perhaps; both share the driver, its contexts, streams and events, so two runtimes
# in one process do no harm, whereas a shared one would have to be exactly the program's.
set(WEFT_CUDA_ARCHITECTURES 90 CACHE STRING "compute capabilities to compile kernels for, as CMAKE_CUDA_ARCHITECTURES")
set(CMAKE_CUDA_ARCHITECTURES ${WEFT_CUDA_ARCHITECTURES})
if(NOT CMAKE_CUDA_COMPILER)
  find_program(WEFT_NVCC nvcc PATHS /usr/local/cuda/bin REQUIRED)
  set(CMAKE_CUDA_COMPILER ${WEFT_NVCC})
endif()
if(NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(WEFT_ABSENT_TYPES Fp8E4m3Fnuz Fp8E5m2Fnuz)

find_package(CUDAToolkit 13.0 REQUIRED)
find_package(Threads REQUIRED)
add_library(weft_hip INTERFACE)  # what a HIP program compiles and links against
target_include_directories(weft_hip INTERFACE ${PROJECT_SOURCE_DIR}/src/platform/nvidia/include)
target_link_libraries(weft_hip INTERFACE CUDA::cudart_static Threads::Threads)

# weft_add_kernels(target source name [definition...]): compiles a source that holds kernels, as object library
# weft_kernels_<name>, into `target`. No contraction into fused multiply-adds: all ranks must round alike.
function(weft_add_kernels target source name)
  set_source_files_properties(${source} PROPERTIES LANGUAGE CUDA)
  add_library(weft_kernels_${name} OBJECT ${source})
  target_compile_definitions(weft_kernels_${name} PRIVATE ${ARGN})
  target_compile_options(weft_kernels_${name} PRIVATE
    -fmad=false --expt-relaxed-constexpr -Werror=all-warnings
    -Xptxas=-warn-spills,-warn-lmem-usage -Xcompiler=-O3,-Wall,-Wextra,-Werror)
  target_include_directories(weft_kernels_${name} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_link_libraries(weft_kernels_${name} PRIVATE weft_hip)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:weft_kernels_${name}>)
endfunction()
