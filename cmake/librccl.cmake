# librccl.so.1: all of weft_core behind the names of exports.map. Owns: how the shared library is linked, not what is in it.
# - Symbolic: a call inside the library is never caught by a symbol of the program it is preloaded into.
# - libstdc++ and libsodium are linked in and hidden: the program may carry other versions of both. Not under a sanitizer, whose
#   runtime must see the one libstdc++ of the process.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/librccl.cc CONTENT "// Empty: a target needs a source, and all of weft_core is linked.\n")
add_library(rccl SHARED ${PROJECT_BINARY_DIR}/librccl.cc)
target_link_libraries(rccl PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,weft_core>)
target_include_directories(rccl INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_link_libraries(rccl INTERFACE $<BUILD_INTERFACE:weft_hip> $<INSTALL_INTERFACE:hip::host>)
target_link_options(rccl PRIVATE -Wl,-Bsymbolic -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
if(NOT WEFT_SANITIZE)
  target_link_options(rccl PRIVATE -Wl,-z,defs -static-libstdc++)
endif()
# $ORIGIN: the HIP runtime of the host platform is installed beside it.
set_target_properties(rccl PROPERTIES VERSION 1.0 SOVERSION 1 INSTALL_RPATH $ORIGIN
                                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
