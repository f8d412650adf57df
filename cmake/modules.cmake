# kizami_sources_of_folder(OUT): every *.cpp of the folder, but only where CUDA is on *.cuda.cpp, host code that calls CUDA and that a C++ compiler
# reads in a third of nvcc's time, and *.cu, device code and launches written <<<>>>.
function(kizami_sources_of_folder out)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu)
  foreach(source ${cuda_sources})
    file(STRINGS ${source} device_lines LIMIT_COUNT 1 REGEX "__global__|__device__|<<<|[.]cuh\"")
    if(NOT device_lines)
      message(FATAL_ERROR "${source} has no device code: name it .cuda.cpp, and nvcc need not read it")
    endif()
  endforeach()
  if(KIZAMI_HAS_CUDA)
    list(APPEND sources ${cuda_sources})
  else()
    list(FILTER sources EXCLUDE REGEX "\\.cuda\\.cpp$")
  endif()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# kizami_module(NAME <n> RANK <r> [SOURCES <file>...] [DEPS <module or target>...])
#
# Defines kizami_<n> from one folder of src/: a static PIC library, or an INTERFACE library while the folder has no source.
# SOURCES defaults to kizami_sources_of_folder(). DEPS names modules (base, num, ...) or targets
# (fmt::fmt, hwy::hwy, ...). Modules are PUBLIC dependencies, and must have a lower rank: configuring stops otherwise.
# Includes read "base/x.hpp" (src/) and "kizami/x.hpp" (include/, tile/include/).
function(kizami_module)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;RANK" "SOURCES;DEPS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR "${arg_RANK}" STREQUAL "")
    message(FATAL_ERROR "kizami_module: needs NAME and RANK; not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_SOURCES)
    kizami_sources_of_folder(arg_SOURCES)
  endif()

  set(target kizami_${arg_NAME})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE kizami_warnings kizami_sections)
    set_target_properties(${target} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/modules
                                               CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
                                               VISIBILITY_INLINES_HIDDEN ON)
    if("hwy::hwy" IN_LIST arg_DEPS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # GCC bug 105593: its own AVX-512 intrinsics read a value that they declare undefined.
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>
                                               $<$<COMPILE_LANGUAGE:CXX>:-Wno-uninitialized>)
    endif()
    # Whole modules that walk plans (cmake/precompile.cmake); elsewhere their host code that decides and launches, by its names. Under sanitizers all
    # modules count as such but numerics, and files of loops over elements keep the optimizer.
    if(arg_NAME MATCHES "^(exec|multi|api)$" OR
       (KIZAMI_SANITIZE AND NOT arg_NAME MATCHES "^(base|num|fp64|certify|tile_kernels|engine_.*)$") OR
       (arg_NAME MATCHES "^(plan|model|wishes|engine_cublas|engine_cublaslt|engine_hopper|engine_mma)$" AND NOT KIZAMI_SANITIZE))
      kizami_walks_plans(${target})
      set(loops ${arg_SOURCES})
      list(FILTER loops INCLUDE REGEX "/(split|sums|float_planes|float_sums|residue.*|crt|crt_digits|complex_planes|correct|double_double|exponent_range|direct|matrix_kernels)\\.cpp$")
      if(KIZAMI_SANITIZE AND loops)
        set_source_files_properties(${loops} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
      endif()
    else()
      kizami_precompile(${target} module)
      set(walkers ${arg_SOURCES})
      list(FILTER walkers INCLUDE REGEX "(\\.cuda|plan|/stage|/numerics|/recipe|/ladder|/strassen|/device_[a-z_]*)\\.cpp$")
      kizami_sources_walk_plans(${walkers})
    endif()
    set_property(GLOBAL APPEND PROPERTY KIZAMI_MODULES_WITH_SOURCES ${target})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR}/src ${KIZAMI_INCLUDES})
  if(KIZAMI_HAS_CUDA)
    target_include_directories(${target} SYSTEM ${scope} ${CUDAToolkit_INCLUDE_DIRS})
  endif()

  foreach(dep ${arg_DEPS})
    get_property(dep_rank GLOBAL PROPERTY KIZAMI_RANK_${dep})
    if(NOT "${dep_rank}" STREQUAL "")
      if(NOT dep_rank LESS arg_RANK)
        message(FATAL_ERROR "module ${arg_NAME} (rank ${arg_RANK}) may not depend on ${dep} (rank ${dep_rank})")
      endif()
      target_link_libraries(${target} ${scope} kizami_${dep})
    elseif(TARGET ${dep})
      target_link_libraries(${target} ${scope} ${dep})
      set_property(GLOBAL APPEND PROPERTY KIZAMI_EXTERNAL_DEPS ${dep})
    else()
      message(FATAL_ERROR "module ${arg_NAME}: '${dep}' is neither a module of lower rank nor a target")
    endif()
  endforeach()
  set_property(GLOBAL PROPERTY KIZAMI_RANK_${arg_NAME} ${arg_RANK})
  set_property(GLOBAL APPEND PROPERTY KIZAMI_MODULES ${target})
endfunction()
