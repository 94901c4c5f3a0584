# weft_sodium: libsodium as an archive, so that librccl.so.1 neither needs nor shows it.
find_path(SODIUM_INCLUDE_DIR sodium.h REQUIRED)
find_library(SODIUM_ARCHIVE libsodium.a REQUIRED)
add_library(weft_sodium STATIC IMPORTED GLOBAL)
set_target_properties(weft_sodium PROPERTIES IMPORTED_LOCATION ${SODIUM_ARCHIVE}
                                             INTERFACE_INCLUDE_DIRECTORIES ${SODIUM_INCLUDE_DIR})
