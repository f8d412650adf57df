# What nearly all units include of the standard library, parsed once: a second of three a unit (docs/perf/build_times.md). CLI11 and nlohmann-json
# stay out, which leave work to every unit that reads them so. The presets package and tidy do without, and prove that no source wants it.
set(KIZAMI_COMMON_HEADERS algorithm array cmath complex cstdint functional memory optional random span string variant vector)

# kizami_common_headers(KIND [PROGRAM] [HEADERS <file>...] [OPTIONS <option>...]): the headers as units of one kind read them, which have the same
# code generation; PROGRAM: as those of executables. It has no definitions: a unit may have more than what is precompiled, never less.
function(kizami_common_headers kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PROGRAM" "" "HEADERS;OPTIONS")
  set(empty ${CMAKE_BINARY_DIR}/common_headers/empty.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "extern int unit_is_not_empty;\n" @ONLY)
  add_library(kizami_common_${kind} OBJECT EXCLUDE_FROM_ALL ${empty})
  if(arg_PROGRAM)
    set_target_properties(kizami_common_${kind} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    list(PREPEND arg_OPTIONS -fPIE)
  endif()
  target_compile_options(kizami_common_${kind} PRIVATE ${arg_OPTIONS})
  target_link_libraries(kizami_common_${kind} PRIVATE kizami_warnings)  # GCC defines a macro by -pedantic
  list(TRANSFORM KIZAMI_COMMON_HEADERS REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE headers)
  list(TRANSFORM arg_HEADERS REPLACE "(.+)" "<\\1>")
  target_precompile_headers(kizami_common_${kind} PRIVATE ${headers} ${arg_HEADERS})
endfunction()

# kizami_precompile(TARGET KIND): TARGET's C++ units read the common headers of that kind first.
function(kizami_precompile target kind)
  target_precompile_headers(${target} REUSE_FROM kizami_common_${kind})
endfunction()
