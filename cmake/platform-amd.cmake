# The amd platform: kernels by clang's HIP language, everything else by the compiler of the project, the HIP runtime of a ROCm
# or of Debian. Owns: finding them, and how one source with kernels becomes one object. docs/amd.md has the command lines.
find_package(Threads REQUIRED)

set(WEFT_AMD_ARCHITECTURES gfx90a gfx942 gfx1100 gfx1201 CACHE STRING "architectures that kernels are compiled for")
if(EXISTS /opt/rocm/include/hip/hip_runtime.h)
  set(rocm_path /opt/rocm)
else()
  set(rocm_path /usr)
endif()
set(WEFT_ROCM_PATH ${rocm_path} CACHE PATH "where include/hip is")

find_program(WEFT_HIP_COMPILER NAMES clang++ clang++-19 clang++-21 clang++-22 clang++-20 HINTS ${WEFT_ROCM_PATH}/lib/llvm/bin ${WEFT_ROCM_PATH}/llvm/bin
             NAMES_PER_DIR NO_DEFAULT_PATH)
find_program(WEFT_HIP_COMPILER NAMES clang++-19 clang++-21 clang++-22 clang++-20 REQUIRED)
# Its own folder, not that of a link to it: there the tools find each other (clang-offload-bundler looks for llvm-objcopy).
get_filename_component(hip_compiler_folder ${WEFT_HIP_COMPILER} REALPATH)
get_filename_component(hip_compiler_folder ${hip_compiler_folder} DIRECTORY)
string(REGEX MATCH "-[0-9]+$" hip_compiler_version ${WEFT_HIP_COMPILER})
foreach(tool clang-offload-bundler llvm-objdump llvm-readelf)
  string(MAKE_C_IDENTIFIER "WEFT_${tool}" variable)
  find_program(${variable} NAMES ${tool} ${tool}${hip_compiler_version} HINTS ${hip_compiler_folder} REQUIRED NAMES_PER_DIR)
endforeach()

find_path(WEFT_HIP_INCLUDE_DIR hip/hip_runtime.h HINTS ${WEFT_ROCM_PATH}/include REQUIRED)
find_library(WEFT_HIP_LIBRARY amdhip64 HINTS ${WEFT_ROCM_PATH}/lib REQUIRED)

add_library(weft_hip INTERFACE)  # what a HIP program compiles and links against
target_include_directories(weft_hip SYSTEM INTERFACE ${PROJECT_SOURCE_DIR}/src/platform/amd/include ${WEFT_HIP_INCLUDE_DIR})
target_compile_definitions(weft_hip INTERFACE __HIP_PLATFORM_AMD__=1)
target_link_libraries(weft_hip INTERFACE ${WEFT_HIP_LIBRARY})

set(hip_device_libs ${PROJECT_BINARY_DIR}/amd-device-libs)
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/amd-device-libs ${WEFT_HIP_COMPILER} ${hip_device_libs} ${WEFT_AMD_ARCHITECTURES}
                COMMAND_ERROR_IS_FATAL ANY)

# Of every compilation of kernels. No contraction into fused multiply-adds: all ranks must round alike. No vectors made of
# scalar arithmetic: taken two at a time the conversions of fp8 need up to 80 vector registers more. No -g: debug information
# of four architectures would be most of the library.
set(WEFT_HIP_FLAGS -x hip -std=c++20 -O3 -ffp-contract=off -fno-slp-vectorize -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fvisibility-inlines-hidden
    --rocm-path=${WEFT_ROCM_PATH} --rocm-device-lib-path=${hip_device_libs})
set(WEFT_HIP_COMPILE ${CMAKE_CXX_COMPILER_LAUNCHER} ${WEFT_HIP_COMPILER} ${WEFT_HIP_FLAGS})
# Device code of one architecture, as the ELF that the runtime will load. Each is its own command: they run side by side, and
# the machine-code checks (tests/machine_code) read the very files that the library carries.
set(WEFT_HIP_DEVICE_FLAGS --cuda-device-only --no-gpu-bundle-output)

# clang 21 does not hand -MD on to the compilation of a device; clang 19 and ccache know nothing better.
execute_process(COMMAND ${WEFT_HIP_COMPILER} -dumpversion OUTPUT_VARIABLE hip_compiler_number OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
function(weft_hip_dependencies variable output)
  if(hip_compiler_number VERSION_LESS 20)
    set(${variable} -MD -MF ${output}.d -MT ${output} PARENT_SCOPE)
  else()
    set(${variable} -Xclang -dependency-file -Xclang ${output}.d -Xclang -MT -Xclang ${output} -Xclang -sys-header-deps PARENT_SCOPE)
  endif()
endfunction()

# weft_hip_code_object(output source architecture flags...)
function(weft_hip_code_object output source architecture)
  weft_hip_dependencies(dependencies ${output})
  add_custom_command(OUTPUT ${output} DEPENDS ${source} DEPFILE ${output}.d COMMAND_EXPAND_LISTS VERBATIM
                     COMMENT "Building HIP code object ${output}"
                     COMMAND ${WEFT_HIP_COMPILE} ${WEFT_HIP_DEVICE_FLAGS} --offload-arch=${architecture} ${ARGN}
                             ${dependencies} -c ${source} -o ${output})
endfunction()

# weft_add_kernels(target source name [definition...]): compiles a source that holds kernels into `target`: one code object
# per architecture, those bundled, the bundle put into the host object. The property WEFT_CODE_OBJECTS of the target lists
# the code objects, WEFT_KERNEL_OBJECTS the host objects.
function(weft_add_kernels target source name)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/kernels)
  file(MAKE_DIRECTORY ${folder})
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  set(flags "-I$<JOIN:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,$<SEMICOLON>-I>" -D__HIP_PLATFORM_AMD__=1 -Xclang -cuid=${name})
  foreach(definition ${ARGN})
    list(APPEND flags -D${definition})
  endforeach()

  set(targets host-x86_64-unknown-linux-gnu)
  set(inputs -input=/dev/null)
  set(code_objects)
  foreach(architecture ${WEFT_AMD_ARCHITECTURES})
    set(code_object ${folder}/${name}.${architecture}.elf)
    weft_hip_code_object(${code_object} ${path} ${architecture} ${flags})
    list(APPEND code_objects ${code_object})
    string(APPEND targets ",hipv4-amdgcn-amd-amdhsa--${architecture}")
    list(APPEND inputs -input=${code_object})
  endforeach()

  set(bundle ${folder}/${name}.hipfb)
  add_custom_command(OUTPUT ${bundle} DEPENDS ${code_objects} VERBATIM COMMENT "Bundling ${name}"
                     COMMAND ${WEFT_clang_offload_bundler} -type=o -bundle-align=4096 -targets=${targets} ${inputs} -output=${bundle})
  set(object ${folder}/${name}.o)
  add_custom_command(OUTPUT ${object} DEPENDS ${path} ${bundle} DEPFILE ${object}.d COMMAND_EXPAND_LISTS VERBATIM
                     COMMENT "Building HIP host object ${object}"
                     COMMAND ${WEFT_HIP_COMPILE} --cuda-host-only -Xclang -fcuda-include-gpubinary -Xclang ${bundle} ${flags}
                             -MD -MF ${object}.d -MT ${object} -c ${path} -o ${object})
  target_sources(${target} PRIVATE ${object})
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set_property(TARGET ${target} APPEND PROPERTY WEFT_CODE_OBJECTS ${code_objects})
  set_property(TARGET ${target} APPEND PROPERTY WEFT_KERNEL_OBJECTS ${object})
endfunction()
