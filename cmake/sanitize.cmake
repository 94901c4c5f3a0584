# WEFT_SANITIZE=address|thread applies to the library, the runtime of the host platform, tools and tests alike.
if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer)
  # With sanitizers gcc takes parts of the standard library's regex for uninitialised.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
endif()
