# Sanitizers apply to every target: half-instrumented programs report nonsense.
if(KIZAMI_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${KIZAMI_SANITIZE}> $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=${KIZAMI_SANITIZE})
endif()
