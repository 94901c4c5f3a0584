# weft_pugixml, where there is one: pugixml as an archive, so that librccl.so.1 neither needs nor shows it.
find_path(PUGIXML_INCLUDE_DIR pugixml.hpp)
find_library(PUGIXML_ARCHIVE libpugixml.a)
if(PUGIXML_INCLUDE_DIR AND PUGIXML_ARCHIVE)
  add_library(weft_pugixml STATIC IMPORTED GLOBAL)
  set_target_properties(weft_pugixml PROPERTIES IMPORTED_LOCATION ${PUGIXML_ARCHIVE}
                                                INTERFACE_INCLUDE_DIRECTORIES ${PUGIXML_INCLUDE_DIR})
else()
  message(STATUS "No pugixml (libpugixml-dev): schedules from XML are refused, and their tests left out")
endif()
