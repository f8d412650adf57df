# Finds the nvcc and tileiras that compile CUDA Tile C++ (./kz tile-toolchain fetches them). Sets KIZAMI_HAS_TILE and, when it
# is false, KIZAMI_TILE_REASON; defines kizami_tile_kernels().
set(KIZAMI_TILE_TOOLCHAIN ${PROJECT_SOURCE_DIR}/build/tile-toolchain/nvidia/cu13 CACHE PATH
    "Root of a CUDA toolkit of 13.4 or newer with bin/nvcc and bin/tileiras")
set(KIZAMI_HAS_TILE FALSE)
set(tile_nvcc ${KIZAMI_TILE_TOOLCHAIN}/bin/nvcc)
if(NOT KIZAMI_HAS_CUDA)
  set(KIZAMI_TILE_REASON "CUDA is off")  # the programs that load the kernels need its runtime
elseif(NOT EXISTS ${tile_nvcc} OR NOT EXISTS ${KIZAMI_TILE_TOOLCHAIN}/bin/tileiras)
  set(KIZAMI_TILE_REASON "no nvcc and tileiras in ${KIZAMI_TILE_TOOLCHAIN}/bin; ./kz tile-toolchain fetches them")
else()
  execute_process(COMMAND ${tile_nvcc} --version OUTPUT_VARIABLE nvcc_banner ERROR_QUIET)
  execute_process(COMMAND ${KIZAMI_TILE_TOOLCHAIN}/bin/tileiras --version OUTPUT_VARIABLE tileiras_banner ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" nvcc_release "${nvcc_banner}")
  set(nvcc_version "${CMAKE_MATCH_1}")
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" tileiras_release "${tileiras_banner}")
  if(NOT nvcc_release OR NOT nvcc_release STREQUAL tileiras_release)
    set(KIZAMI_TILE_REASON "nvcc is of ${nvcc_release} and tileiras of ${tileiras_release}, must be of one release")
  elseif(nvcc_version VERSION_LESS 13.4)
    set(KIZAMI_TILE_REASON "nvcc is of ${nvcc_release}, must be of 13.4 or newer")
  else()
    set(KIZAMI_HAS_TILE TRUE)
  endif()
endif()
if(KIZAMI_HAS_TILE)
  message(STATUS "CUDA Tile: ${tile_nvcc} ${nvcc_version}, sm_90")
else()
  message(STATUS "CUDA Tile: off (${KIZAMI_TILE_REASON})")
endif()

# kizami_tile_kernels(TARGET <name> SOURCES <file.cu>... [CONTRACTED <file.cu>...])
#
# Compiles each file of tile kernels to a cubin for sm_90, and makes the object library TARGET that carries them as
# `extern "C" const unsigned long long kizami_tile_<file>[]` (load: src/base/cuda_module.hpp). A cubin, and not code for a later
# assembler: drivers older than the toolkit run the one and cannot translate the other. Floating-point contraction is off,
# as in every unit of the project, but for the files CONTRACTED, of which it is the subject.
function(kizami_tile_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET" "SOURCES;CONTRACTED")
  set(bin ${KIZAMI_TILE_TOOLCHAIN}/bin)
  set(embedded)
  foreach(source ${arg_SOURCES} ${arg_CONTRACTED})
    set(fmad false)
    if(source IN_LIST arg_CONTRACTED)
      set(fmad true)
    endif()
    get_filename_component(name ${source} NAME_WE)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${name})
    add_custom_command(
      OUTPUT ${out}.cubin
      COMMAND ${tile_nvcc} -std=c++20 --tile-only --tilecubin --fmad=${fmad} -gencode arch=compute_90,code=sm_90
              $<$<BOOL:${KIZAMI_WERROR}>:-Werror=all-warnings> -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/tile/include
              -MD -MF ${out}.d -o ${out}.cubin ${source}
      DEPENDS ${source} ${tile_nvcc}
      DEPFILE ${out}.d
      COMMENT "Compiling tile kernels ${name}.cubin"
      COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_command(
      OUTPUT ${out}.cubin.c
      COMMAND ${bin}/bin2c --const --type longlong --name kizami_tile_${name} ${out}.cubin > ${out}.cubin.c
      DEPENDS ${out}.cubin
      VERBATIM)
    list(APPEND embedded ${out}.cubin.c)
  endforeach()
  add_library(${arg_TARGET} OBJECT ${embedded})
  target_compile_options(${arg_TARGET} PRIVATE -fvisibility=hidden)  # libkizami.so exports no kernels
endfunction()
