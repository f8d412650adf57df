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
# Those of CMAKE_CUDA_ARCHITECTURES that have code: 80, 90, 100, 120.
set(KIZAMI_TILE_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
list(FILTER KIZAMI_TILE_ARCHITECTURES EXCLUDE REGEX "-virtual$")
list(TRANSFORM KIZAMI_TILE_ARCHITECTURES REPLACE "^([0-9]+).*" "\\1")
if(KIZAMI_HAS_TILE)
  string(REPLACE ";" ", sm_" names "${KIZAMI_TILE_ARCHITECTURES}")
  message(STATUS "CUDA Tile: ${tile_nvcc} ${nvcc_version}, sm_${names}")
else()
  message(STATUS "CUDA Tile: off (${KIZAMI_TILE_REASON})")
endif()

# kizami_tile_kernels(TARGET <name> SOURCES <file.cu>... [CONTRACTED <file.cu>...] [ARCHITECTURES <number>...])
#
# Compiles each file of tile kernels to a cubin for sm_90, or for each of ARCHITECTURES, and makes the object library TARGET that
# carries them as `extern "C" const unsigned long long kizami_tile_<file>[]`, several as one fatbin (load: src/base/cuda_module.hpp). A cubin, and not code for a later
# assembler: drivers older than the toolkit run the one and cannot translate the other. Floating-point contraction is off,
# as in every unit of the project, but for the files CONTRACTED, of which it is the subject.
function(kizami_tile_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET" "SOURCES;CONTRACTED;ARCHITECTURES")
  if(NOT arg_ARCHITECTURES)
    set(arg_ARCHITECTURES 90)
  endif()
  set(bin ${KIZAMI_TILE_TOOLCHAIN}/bin)
  set(embedded)
  foreach(source ${arg_SOURCES} ${arg_CONTRACTED})
    set(fmad false)
    if(source IN_LIST arg_CONTRACTED)
      set(fmad true)
    endif()
    get_filename_component(name ${source} NAME_WE)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${name})
    set(cubins)
    set(images)
    foreach(architecture IN LISTS arg_ARCHITECTURES)
      set(cubin ${out}.sm_${architecture}.cubin)
      add_custom_command(
        OUTPUT ${cubin}
        COMMAND ${tile_nvcc} -std=c++20 --tile-only --tilecubin --fmad=${fmad} -gencode arch=compute_${architecture},code=sm_${architecture}
                $<$<BOOL:${KIZAMI_WERROR}>:-Werror=all-warnings> -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include
                -I${PROJECT_SOURCE_DIR}/tile/include -MD -MF ${cubin}.d -o ${cubin} ${source}
        DEPENDS ${source} ${tile_nvcc}
        DEPFILE ${cubin}.d
        COMMENT "Compiling tile kernels ${name}.sm_${architecture}.cubin"
        COMMAND_EXPAND_LISTS VERBATIM)
      list(APPEND cubins ${cubin})
      list(APPEND images --image3=kind=elf,sm=${architecture},file=${cubin})
    endforeach()
    set(image ${cubins})
    list(LENGTH cubins num_cubins)
    if(num_cubins GREATER 1)
      set(image ${out}.fatbin)
      add_custom_command(
        OUTPUT ${image}
        COMMAND ${bin}/fatbinary -64 --compress-mode=size --create=${image} ${images}
        DEPENDS ${cubins}
        VERBATIM)
    endif()
    add_custom_command(
      OUTPUT ${out}.image.c
      COMMAND ${bin}/bin2c --const --type longlong --name kizami_tile_${name} ${image} > ${out}.image.c
      DEPENDS ${image}
      VERBATIM)
    list(APPEND embedded ${out}.image.c)
  endforeach()
  add_library(${arg_TARGET} OBJECT ${embedded})
  target_compile_options(${arg_TARGET} PRIVATE -fvisibility=hidden)  # libkizami.so exports no kernels
endfunction()
