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

# Host code is of two kinds (cmake/precompile.cmake): what walks plans, decides and launches is compiled for size, loops over elements for speed.
# In modules of both kinds the name of a file says which it is.
set(KIZAMI_WALKING_MODULES exec multi api plan model wishes engine_cublas engine_cublaslt engine_hopper engine_mma)
set(KIZAMI_WALKING_FILES *.cuda.cpp device_*.cpp *plan.cpp stage.cpp numerics.cpp recipe.cpp ladder.cpp strassen.cpp)  # of other modules
# Under sanitizers engines of a device count as loops, too, and all that has no loops as walking. Of that what has some keeps the optimizer.
set(KIZAMI_LOOPING_MODULES base num fp64 certify tile_kernels engine_*)
set(KIZAMI_LOOPING_FILES split.cpp sums.cpp float_planes.cpp float_sums.cpp residue*.cpp crt.cpp crt_digits.cpp complex_planes.cpp correct.cpp
                         double_double.cpp exponent_range.cpp direct.cpp matrix_kernels.cpp)

# kizami_named(OUT <name>... IN <path>...): the paths whose last parts are of these names, in which * is any text.
function(kizami_named out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "IN")
  string(REPLACE "." "[.]" names "${arg_UNPARSED_ARGUMENTS}")
  string(REPLACE "*" "[^/]*" names "${names}")
  list(JOIN names "|" names)
  list(FILTER arg_IN INCLUDE REGEX "^(.*/)?(${names})$")
  set(${out} ${arg_IN} PARENT_SCOPE)
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
    kizami_named(walks ${KIZAMI_WALKING_MODULES} IN ${arg_NAME})
    if(KIZAMI_SANITIZE)
      kizami_named(loops ${KIZAMI_LOOPING_MODULES} IN ${arg_NAME})
      set(walks TRUE)
      if(loops)
        set(walks FALSE)
      endif()
    endif()
    if(walks)
      kizami_walks_plans(${target})
      kizami_named(loops ${KIZAMI_LOOPING_FILES} IN ${arg_SOURCES})
      if(KIZAMI_SANITIZE AND loops)
        set_source_files_properties(${loops} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
      endif()
    else()
      kizami_precompile(${target} module)
      kizami_named(walkers ${KIZAMI_WALKING_FILES} IN ${arg_SOURCES})
      kizami_sources_walk_plans(${target} ${walkers})  # not under sanitizers
    endif()
    if(NOT arg_NAME MATCHES "^engine_")  # whose C++ sources for host and device, or types, are alike down to their local names
      kizami_unity(${target})
    endif()
    # When it has its instantiations. Arguments of DEFER are expanded by then, so that this call has to name the target.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL kizami_device_unity ${target})")
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
