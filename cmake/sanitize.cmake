# WEFT_SANITIZE=address|thread applies to the library, the runtime of the host platform, tools and tests alike.
if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
endif()
