# Sanitizers apply to every target: half-instrumented programs report nonsense.
if(KIZAMI_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${KIZAMI_SANITIZE}> $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>)
  # AddressSanitizer stops at an access through null, and beyond an object, by itself. Asked for twice, at each pointer, this is a sixth of the
  # compiler's time.
  if(KIZAMI_SANITIZE MATCHES "address" AND KIZAMI_SANITIZE MATCHES "undefined")
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize=null> $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize=object-size>)
  endif()
  # Clang's check of the arithmetic of pointers makes units of SIMD three times as dear, and AddressSanitizer looks at what is read through them.
  if(KIZAMI_SANITIZE MATCHES "address" AND KIZAMI_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize=pointer-overflow>)
  endif()
  add_link_options(-fsanitize=${KIZAMI_SANITIZE})
  if(KIZAMI_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # links in a fifth of the time
    add_link_options(-fuse-ld=lld)
  endif()
  # A program has a million addresses of places in the sources, which a fixed position leaves nothing to do with at its start.
  if(KIZAMI_SANITIZE MATCHES "undefined")
    add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
endif()

# libFuzzer is guided by coverage, so what it runs is instrumented too; the fuzz targets link its main().
if(KIZAMI_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "KIZAMI_FUZZ needs clang, but the compiler is ${CMAKE_CXX_COMPILER_ID}: cmake --preset fuzz")
  endif()
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=fuzzer-no-link>)
endif()
