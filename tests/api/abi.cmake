# The C interface as a program sees it: layouts, exported names, the installed package, life inside a foreign process.
weft_test(api_abi_test LABELS quick TIMEOUT 30 SOURCES abi_test.cc abi_c11.c)
set_source_files_properties(abi_c11.c PROPERTIES COMPILE_OPTIONS "-std=c11;-pedantic;-Wall;-Wextra;-Werror")
weft_test(api_unavailable_test LABELS quick TIMEOUT 30 SOURCES unavailable_test.cc)
weft_test(api_last_error_test LABELS quick TIMEOUT 30 SOURCES last_error_test.cc)

if(NOT WEFT_SANITIZE)  # a sanitizer adds its own symbols and must itself be loaded first
  add_test(NAME api_exports COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_exports.sh $<TARGET_FILE:rccl> ${PROJECT_SOURCE_DIR}/include)
  set_tests_properties(api_exports PROPERTIES LABELS quick TIMEOUT 60)

  add_executable(api_preload_clash preload_clash.cc)
  target_include_directories(api_preload_clash PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(api_preload_clash PRIVATE weft_hip ${CMAKE_DL_LIBS})
  set_target_properties(api_preload_clash PROPERTIES ENABLE_EXPORTS ON CXX_VISIBILITY_PRESET default)
  add_dependencies(api_preload_clash rccl)
  add_test(NAME api_preload_clash COMMAND api_preload_clash)
  set_tests_properties(api_preload_clash PROPERTIES LABELS quick TIMEOUT 30 ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:rccl>")

  # A HIP program that was linked to another RCCL runs on ours when it is preloaded (README.md), and on the other when not.
  if(WEFT_PLATFORM STREQUAL "host")
    add_library(api_preload_other SHARED preload_other.cc)
    target_include_directories(api_preload_other PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(api_preload_other PRIVATE weft_hip)
    set_target_properties(api_preload_other PROPERTIES OUTPUT_NAME rccl SOVERSION 1 CXX_VISIBILITY_PRESET default
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/other)
    add_executable(api_preload_program preload_program.cc)
    target_include_directories(api_preload_program PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(api_preload_program PRIVATE weft_hip api_preload_other)
    add_dependencies(api_preload_program rccl)
    add_test(NAME api_preload COMMAND api_preload_program)
    set_tests_properties(api_preload PROPERTIES LABELS quick TIMEOUT 30 ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:rccl>"
                         PASS_REGULAR_EXPRESSION "sums are right" FAIL_REGULAR_EXPRESSION "the other library")
    add_test(NAME api_preload_without COMMAND api_preload_program)
    set_tests_properties(api_preload_without PROPERTIES LABELS quick TIMEOUT 30
                         PASS_REGULAR_EXPRESSION "the other library was called")
  endif()

  add_test(NAME api_consumer
           COMMAND ${CMAKE_COMMAND} -D BUILD=${PROJECT_BINARY_DIR} -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/consumer
                   -D WORK=${CMAKE_CURRENT_BINARY_DIR}/consumer -D GENERATOR=${CMAKE_GENERATOR}
                   -D C_COMPILER=${CMAKE_C_COMPILER} -D CXX_COMPILER=${CMAKE_CXX_COMPILER}
                   -P ${CMAKE_CURRENT_SOURCE_DIR}/check_consumer.cmake)
  set_tests_properties(api_consumer PROPERTIES LABELS quick TIMEOUT 120)
endif()
