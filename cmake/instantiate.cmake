# kizami_instantiate(<module> <header> <macro> [<type>...])
#
# Adds to a module one CUDA unit for each type, or each of KIZAMI_ELEMENT_TYPES, which says <macro>(<C++ type>) after including <header>. All types in one unit would
# keep one processor for minutes. The units lie in the build tree: ${KIZAMI_INSTANTIATED}/<folder>/<stem>_<type>.cu.
set(KIZAMI_INSTANTIATED ${CMAKE_BINARY_DIR}/instantiated)
set(KIZAMI_ELEMENT_TYPES f32 f64 c64 c128)
set(KIZAMI_CPP_TYPE_f32 "float")
set(KIZAMI_CPP_TYPE_f64 "double")
set(KIZAMI_CPP_TYPE_c64 "std::complex<float>")
set(KIZAMI_CPP_TYPE_c128 "std::complex<double>")

function(kizami_instantiate module header macro)
  if(NOT KIZAMI_HAS_CUDA)
    return()
  endif()
  cmake_path(GET header PARENT_PATH folder)
  cmake_path(GET header STEM stem)
  set(types ${ARGN})
  if(NOT types)
    set(types ${KIZAMI_ELEMENT_TYPES})
  endif()
  foreach(type ${types})
    set(unit ${KIZAMI_INSTANTIATED}/${folder}/${stem}_${type}.cu)
    file(CONFIGURE OUTPUT ${unit} @ONLY
         CONTENT "#include <complex>\n\n#include \"${header}\"\n\n${macro}(${KIZAMI_CPP_TYPE_${type}});\n")
    target_sources(kizami_${module} PRIVATE ${unit})
  endforeach()
endfunction()
