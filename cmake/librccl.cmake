# librccl.so.1: all of weft_core behind the names of exports.map; on nvidia the same as libnccl.so.2 as well. Owns: how the shared
# library is linked, not what is in it.
# - Symbolic: a call inside the library is never caught by a symbol of the program it is preloaded into.
# - libstdc++, libsodium and pugixml are linked in and hidden: the program may carry other versions of them. Not under a sanitizer, whose
#   runtime must see the one libstdc++ of the process.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/librccl.cc CONTENT "// Empty: a target needs a source, and all of weft_core is linked.\n")

# weft_collective_library(name major): lib<name>.so.<major>
function(weft_collective_library name major)
  add_library(${name} SHARED ${PROJECT_BINARY_DIR}/librccl.cc)
  target_link_libraries(${name} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,weft_core>)
  target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${name} INTERFACE $<BUILD_INTERFACE:weft_hip> $<INSTALL_INTERFACE:hip::host>)
  target_link_options(${name} PRIVATE -Wl,-Bsymbolic -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
  if(NOT WEFT_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs -static-libstdc++)
  endif()
  # $ORIGIN: the HIP runtime of the host platform is installed beside it.
  set_target_properties(${name} PROPERTIES VERSION ${major}.0 SOVERSION ${major} INSTALL_RPATH $ORIGIN
                                           LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
endfunction()

weft_collective_library(rccl 1)
if(WEFT_PLATFORM STREQUAL nvidia)
  weft_collective_library(nccl 2)
  install(TARGETS nccl LIBRARY DESTINATION lib)
endif()
