# What nearly all units include of the standard library, parsed once: a second of three a unit (docs/perf/build_times.md). CLI11 and nlohmann-json
# stay out, which leave work to every unit that reads them so. The presets package and tidy do without, and prove that no source wants it.
set(KIZAMI_COMMON_HEADERS algorithm array cmath complex cstdint functional memory optional random span string variant vector)

# kizami_common_headers(KIND [PROGRAM] [HEADERS <file>...] [OPTIONS <option>...] [LIBRARIES <target>...]): the headers as units of one kind read them, which have the same
# code generation and warnings; PROGRAM: as those of executables. LIBRARIES: for definitions that the headers look at. A unit may have more than those.
function(kizami_common_headers kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PROGRAM" "" "HEADERS;OPTIONS;LIBRARIES")
  set(empty ${CMAKE_BINARY_DIR}/common_headers/empty.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "extern int unit_is_not_empty;\n" @ONLY)
  add_library(kizami_common_${kind} OBJECT EXCLUDE_FROM_ALL ${empty})
  if(arg_PROGRAM)
    set_target_properties(kizami_common_${kind} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    list(PREPEND arg_OPTIONS -fPIE)
  endif()
  target_compile_options(kizami_common_${kind} PRIVATE ${arg_OPTIONS})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(kizami_common_${kind} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # ccache compares contents
  endif()
  target_link_libraries(kizami_common_${kind} PRIVATE kizami_warnings ${arg_LIBRARIES})  # GCC defines a macro by -pedantic
  list(TRANSFORM KIZAMI_COMMON_HEADERS REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE headers)
  list(TRANSFORM arg_HEADERS REPLACE "(.+)" "<\\1>")
  target_precompile_headers(kizami_common_${kind} PRIVATE ${headers} ${arg_HEADERS})
endfunction()

# kizami_precompile(TARGET KIND): TARGET's C++ units read the common headers of that kind first.
function(kizami_precompile target kind)
  target_precompile_headers(${target} REUSE_FROM kizami_common_${kind})
  # Its false alarms about strings depend on what is inlined, and after a precompiled header other things are (GCC bug 105651). Trees
  # without precompiled headers have these warnings.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    foreach(warning array-bounds maybe-uninitialized restrict stringop-overflow stringop-overread)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-${warning}>)
    endforeach()
  endif()
endfunction()

# With KIZAMI_UNITY up to six sources of a target are one unit, whose headers are parsed once. Not those that leave macros behind, which may change what others
# see; nor Highway's, which include themselves; nor these:
set(KIZAMI_ALONE
    tile/tests/host/backend_own_formats.cpp      # formats of its own in the place of CUDA's
    tests/out_of_memory/failing_allocations.cpp  # its operator new, of which the compiler would know
    # Local names of their neighbours, or types of unnamed namespaces in what they return, which g++ takes for a header's fault:
    dropin/cublas/native_level3.cpp
    src/api/cuda.cuda.cpp
    src/engines/mma/mma_kernel.cu
    src/schemes/ec/device_profile.cu
    src/schemes/ozaki2/crt.cpp
    src/schemes/ozaki2/device_buffers.cpp
    src/schemes/ozaki2/device_strassen_residues.cu)

# kizami_stands_alone(OUT SOURCE): by what the source says when CMake runs.
function(kizami_stands_alone out source)
  file(REAL_PATH ${source} path BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
  file(STRINGS ${path} lines REGEX "^# *(define|undef) |foreach_target")
  set(left "")  # macros
  foreach(line ${lines})
    if(line MATCHES "^# *define ([A-Za-z0-9_]+)")
      list(APPEND left ${CMAKE_MATCH_1})
    elseif(line MATCHES "^# *undef ([A-Za-z0-9_]+)")
      list(REMOVE_ITEM left ${CMAKE_MATCH_1})
    endif()
  endforeach()
  if(left OR lines MATCHES "foreach_target" OR name IN_LIST KIZAMI_ALONE)
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# kizami_unity(TARGET): its C++ sources; those with options of their own are left out by CMake.
function(kizami_unity target)
  if(NOT KIZAMI_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source ${sources})
    kizami_stands_alone(is_alone ${source})
    if(is_alone)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# kizami_together(OUT TARGET NAME SOURCE...): the same for SOURCES of a target that CMake does not put together; OUT has what is compiled: units NAME_<number>, and
# sources that stand alone.
function(kizami_together out target name)
  set(together "")
  set(compiled "")
  set(number 0)
  foreach(source ${ARGN})
    kizami_stands_alone(is_alone ${source})
    if(is_alone OR NOT KIZAMI_UNITY)
      list(APPEND compiled ${source})
    else()
      file(REAL_PATH ${source} path BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      list(APPEND together ${path})
    endif()
  endforeach()
  while(together)
    list(SUBLIST together 0 6 batch)
    list(REMOVE_ITEM together ${batch})
    list(LENGTH batch size)
    if(size EQUAL 1)
      list(APPEND compiled ${batch})
      break()
    endif()
    list(GET batch 0 first)
    cmake_path(GET first EXTENSION LAST_ONLY extension)
    set(unit ${CMAKE_BINARY_DIR}/together/${name}_${number}${extension})
    math(EXPR number "${number} + 1")
    set_source_files_properties(${batch} PROPERTIES HEADER_FILE_ONLY ON)
    list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"\n")
    string(CONCAT content ${batch})
    file(CONFIGURE OUTPUT ${unit} CONTENT "${content}" @ONLY)
    target_sources(${target} PRIVATE ${unit})
    list(APPEND compiled ${unit})
  endwhile()
  set(${out} "${compiled}" PARENT_SCOPE)
endfunction()

# kizami_device_unity(TARGET): its device code, where that is compiled fast; headers are most of a small unit.
function(kizami_device_unity target)
  if(KIZAMI_CUDA_IS_FAST)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cu$")
    kizami_together(units ${target} ${target} ${sources})
  endif()
endfunction()

# kizami_walks_plans(TARGET): all of TARGET's C++ units are such code; kizami_sources_walk_plans(TARGET SOURCE...): some are.
function(kizami_walks_plans target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${KIZAMI_WALKER_OPTIMIZATION}>)
  kizami_precompile(${target} walker)
endfunction()
function(kizami_sources_walk_plans target)
  if(KIZAMI_SANITIZE OR NOT ARGN)
    return()
  endif()
  kizami_together(units ${target} ${target}_walkers ${ARGN})
  set(options ${KIZAMI_WALKER_OPTIMIZATION})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)  # those of walkers, in CMake's words
    set(header ${CMAKE_BINARY_DIR}/CMakeFiles/kizami_common_walker.dir/cmake_pch.hxx)
    list(APPEND options -Winvalid-pch -include ${header})
    set_source_files_properties(${units} PROPERTIES OBJECT_DEPENDS ${header}.gch)
  endif()
  set_source_files_properties(${units} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Units whose speed nobody measures: of programs and of tests.
set(KIZAMI_PLAIN_OPTIMIZATION -O1)
if(KIZAMI_SANITIZE)
  set(KIZAMI_PLAIN_OPTIMIZATION -O0)
endif()
# Code that walks plans, calls and launches, not elements: half the bytes of -O3 (docs/perf/build_times.md), and instrumented it is compiled in half
# the time without optimisation.
set(KIZAMI_WALKER_OPTIMIZATION -Os)
if(KIZAMI_SANITIZE)
  set(KIZAMI_WALKER_OPTIMIZATION -O0)
endif()
kizami_common_headers(module)
set_target_properties(kizami_common_module PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
kizami_common_headers(walker OPTIONS ${KIZAMI_WALKER_OPTIMIZATION})
set_target_properties(kizami_common_walker PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
kizami_common_headers(check)
kizami_common_headers(cli OPTIONS ${KIZAMI_PLAIN_OPTIMIZATION})
kizami_common_headers(program PROGRAM OPTIONS ${KIZAMI_PLAIN_OPTIMIZATION})
if(KIZAMI_TESTS)
  kizami_common_headers(test PROGRAM HEADERS gtest/gtest.h OPTIONS ${KIZAMI_PLAIN_OPTIMIZATION} LIBRARIES GTest::gtest)
  if(NOT KIZAMI_SANITIZE)
    kizami_common_headers(plain_test PROGRAM HEADERS gtest/gtest.h OPTIONS -O0 LIBRARIES GTest::gtest)
  endif()
endif()
