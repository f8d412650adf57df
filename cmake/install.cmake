# What `cmake --install` puts under the prefix, which may be moved afterwards: headers, libraries, command line, the CMake
# package (find_package(kizami)), the pkg-config file, documents. Components as the Debian packages (cmake/package.cmake):
# runtime, development, tools.
if(NOT TARGET kizami OR NOT TARGET kizami_program)
  return()
endif()
include(CMakePackageConfigHelpers)

# What libkizami.a needs beside itself, as names that a user's machine resolves: no path of this one is installed.
function(kizami_link_name out file)
  get_filename_component(name ${file} NAME)
  if(name MATCHES "^lib(.+)\\.(so[.0-9]*|a)$")
    set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
  else()
    set(${out} ${name} PARENT_SCOPE)
  endif()
endfunction()
get_target_property(hwy_config hwy::hwy IMPORTED_CONFIGURATIONS)
list(GET hwy_config 0 hwy_config)
get_target_property(hwy_file hwy::hwy IMPORTED_LOCATION_${hwy_config})
set(KIZAMI_STATIC_NAMES "")
foreach(file ${hwy_file} ${BLAS_LIBRARIES} ${KIZAMI_CBLAS_LIBRARY})
  if(NOT file MATCHES "^-")  # -lm and its like come below
    kizami_link_name(name ${file})
    list(APPEND KIZAMI_STATIC_NAMES ${name})
  endif()
endforeach()
set(system_libs -lm -ldl -lrt -pthread)
list(TRANSFORM KIZAMI_STATIC_NAMES PREPEND -l OUTPUT_VARIABLE static_libs)
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cu)
set(KIZAMI_CUDA_DIRECTORY "")
if(KIZAMI_HAS_CUDA AND cuda_sources)
  list(APPEND KIZAMI_STATIC_NAMES cudart_static)
  # Where CUDA is on most machines; pkg-config --define-variable=cudadir=... says otherwise.
  list(APPEND static_libs "-L\${cudadir}/lib64" "-L\${cudadir}/lib" -lcudart_static)
  set(KIZAMI_CUDA_DIRECTORY "cudadir=/usr/local/cuda\n")
endif()
list(APPEND static_libs ${system_libs})
list(REMOVE_DUPLICATES KIZAMI_STATIC_NAMES)
list(REMOVE_DUPLICATES static_libs)
target_link_libraries(kizami_static INTERFACE "$<INSTALL_INTERFACE:${system_libs}>")

# Headers and libraries.
install(TARGETS kizami EXPORT kizami-shared
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS kizami_static EXPORT kizami-static
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
list(TRANSFORM KIZAMI_INCLUDES APPEND /kizami OUTPUT_VARIABLE headers)
install(DIRECTORY ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.cuh" PATTERN "*.f90")
install(TARGETS kizami_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)

# find_package(kizami 0.1 CONFIG [COMPONENTS cuda fortran]): cmake/kizami-config.cmake.in says which targets there are.
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kizami)
foreach(kind shared static)
  install(EXPORT kizami-${kind} NAMESPACE Kizami:: FILE kizami-${kind}-targets.cmake DESTINATION ${cmake_dir}
          COMPONENT development)
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/kizami-config.cmake.in
                              ${CMAKE_BINARY_DIR}/install/kizami-config.cmake INSTALL_DESTINATION ${cmake_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/kizami-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/install/kizami-config.cmake ${CMAKE_BINARY_DIR}/install/kizami-config-version.cmake
        DESTINATION ${cmake_dir} COMPONENT development)

# pkg-config kizami; --static adds what libkizami.a needs.
file(RELATIVE_PATH KIZAMI_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" KIZAMI_PREFIX_FROM_PC "${KIZAMI_PREFIX_FROM_PC}")
list(JOIN static_libs " " KIZAMI_STATIC_LIBS)
configure_file(${PROJECT_SOURCE_DIR}/cmake/kizami.pc.in ${CMAKE_BINARY_DIR}/install/kizami.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/install/kizami.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# Documents. Debian wants one folder for each package, the licence under another name, and the manual
# compressed (cmake/package.cmake).
if(KIZAMI_DEBIAN)
  set(development_doc_dir ${CMAKE_INSTALL_DATAROOTDIR}/doc/libkizami-dev)
else()
  set(development_doc_dir ${CMAKE_INSTALL_DOCDIR})
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
  install(FILES docs/kizami.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
endif()
# README.md with what it leads to, at the paths of the repository, so that its links hold: guides and examples. Links to what is not installed
# (records, benchmarks, sources) become plain text.
file(READ README.md readme)
string(REGEX REPLACE "\\[([^]]*)\\]\\((lab|src|tests|tools|demo|tile/examples)[^)]*\\)" "\\1" readme "${readme}")
file(WRITE ${CMAKE_BINARY_DIR}/install/README.md "${readme}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS README.md)
install(FILES ${CMAKE_BINARY_DIR}/install/README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${development_doc_dir} COMPONENT development)
install(DIRECTORY docs examples DESTINATION ${development_doc_dir} COMPONENT development
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.bib" PATTERN "*.v" PATTERN "*.cpp" PATTERN "*.hpp" PATTERN "*.cu" PATTERN "*.cuh" PATTERN "*.c" PATTERN "*.f90" PATTERN "*.py" PATTERN "*.ipynb"
        PATTERN "CMakeLists.txt" PATTERN "*.rules" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY dropin/factorizations DESTINATION ${development_doc_dir}/dropin COMPONENT development)  # which two examples include
install(DIRECTORY tile/docs DESTINATION ${development_doc_dir}/tile COMPONENT development FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
if(KIZAMI_DEBIAN)
  install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tools)
endif()
