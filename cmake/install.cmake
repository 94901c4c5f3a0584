# What `cmake --install` puts in place: RCCL's layout, so that find_package(rccl) of existing programs finds this library.
# Owns: paths and the CMake package. The package brings hip::host itself where no ROCm does (platforms host and nvidia).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(rccl_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rccl)
set(rccl_api_version 2.28.3)  # of rccl.h, which is what a program asks find_package for

install(TARGETS rccl EXPORT rccl-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rccl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/nccl.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT rccl-targets NAMESPACE roc:: DESTINATION ${rccl_package_dir})

# The hip/ headers of platforms without ROCm, apart from include/ so that they never hide real ones.
set(weft_hip_include_dir ${CMAKE_INSTALL_INCLUDEDIR}/weft-${WEFT_PLATFORM})
if(NOT WEFT_PLATFORM STREQUAL amd)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/platform/${WEFT_PLATFORM}/include/hip DESTINATION ${weft_hip_include_dir})
endif()
if(TARGET hiphost)
  install(TARGETS hiphost LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rccl-config.cmake.in ${PROJECT_BINARY_DIR}/rccl-config.cmake
                              INSTALL_DESTINATION ${rccl_package_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR weft_hip_include_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rccl-config-version.cmake VERSION ${rccl_api_version}
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rccl-config.cmake ${PROJECT_BINARY_DIR}/rccl-config-version.cmake
        DESTINATION ${rccl_package_dir})
