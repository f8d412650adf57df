# Programs that do nothing without a CUDA device: tests of kernels, benchmarks; and all others of lab, which measure the library and are no part of
# it. Target all builds them; kizami_tested is all else, which ./kz test builds on a machine without a device. What keeps them from rotting there:
# the C++ of tests is read, ./kz gpu-test and ./kz nightly build them, and the latter runs the tests of lab.
# Tests that run them have label gpu_program or bench_program.

# The compiler reads a unit and says what is wrong with it, and writes nothing: a third of the time.
set(KIZAMI_ONLY_READ sh ${PROJECT_SOURCE_DIR}/cmake/only_read.sh ${CMAKE_CXX_COMPILER_LAUNCHER})

# kizami_device_programs(TARGET...)
function(kizami_device_programs)
  set_property(GLOBAL APPEND PROPERTY KIZAMI_DEVICE_PROGRAMS ${ARGV})
endfunction()

# kizami_check_device_sources(TARGET SOURCE...): reads the sources as those of TARGET are compiled.
function(kizami_check_device_sources target)
  add_library(${target}_check OBJECT EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${target}_check PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  target_compile_definitions(${target}_check PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  set_target_properties(${target}_check PROPERTIES CXX_COMPILER_LAUNCHER "${KIZAMI_ONLY_READ}" POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target}_check PRIVATE -fPIE)  # as executables, whose precompiled headers these read
  kizami_test_options(${target}_check)
  set_property(GLOBAL APPEND PROPERTY KIZAMI_DEVICE_CHECKS ${target}_check)
endfunction()

function(kizami_targets_below folder out)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder ${folders})
    kizami_targets_below(${subfolder} more)
    list(APPEND targets ${more})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# Target kizami_tested, when all others are there.
function(kizami_add_tested)
  add_custom_target(kizami_tested)
  get_property(device_programs GLOBAL PROPERTY KIZAMI_DEVICE_PROGRAMS)
  get_property(checks GLOBAL PROPERTY KIZAMI_DEVICE_CHECKS)
  kizami_targets_below(${PROJECT_SOURCE_DIR} targets)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(is_left_out ${target} EXCLUDE_FROM_ALL)
    if(NOT is_left_out AND NOT target IN_LIST device_programs AND NOT type MATCHES "^(STATIC_LIBRARY|INTERFACE_LIBRARY)$")
      add_dependencies(kizami_tested ${target})
    endif()
  endforeach()
  add_dependencies(kizami_tested kizami_products ${checks})
endfunction()
