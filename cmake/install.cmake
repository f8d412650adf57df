# What `cmake --install` puts under the prefix, which may be moved afterwards: headers, libraries, command line, the CMake
# package (find_package(kizami)), the pkg-config file, documents. Components as the Debian packages (cmake/package.cmake):
# runtime, development, tools.
if(NOT TARGET kizami OR NOT TARGET kizami_program)
  return()
endif()
include(CMakePackageConfigHelpers)

# What a linker needs beside libkizami.a: names in the system's directories, and files elsewhere.
function(kizami_link_name out file)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(name ${file} NAME)
  if(folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES AND name MATCHES "^lib(.+)\\.(so[.0-9]*|a)$")
    set(${out} -l${CMAKE_MATCH_1} PARENT_SCOPE)
  else()
    set(${out} ${file} PARENT_SCOPE)
  endif()
endfunction()
get_target_property(hwy_config hwy::hwy IMPORTED_CONFIGURATIONS)
list(GET hwy_config 0 hwy_config)
get_target_property(hwy_file hwy::hwy IMPORTED_LOCATION_${hwy_config})
set(files ${hwy_file} ${BLAS_LIBRARIES} ${KIZAMI_CBLAS_LIBRARY})
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cu)
if(KIZAMI_HAS_CUDA AND cuda_sources)
  list(APPEND files ${CUDA_cudart_static_LIBRARY})
endif()
set(static_libs "")
foreach(file ${files})
  if(IS_ABSOLUTE ${file})
    kizami_link_name(file ${file})
  endif()
  list(APPEND static_libs ${file})
endforeach()
list(APPEND static_libs -lm -ldl -lrt -pthread)
list(REMOVE_DUPLICATES static_libs)
target_link_libraries(kizami_static INTERFACE "$<INSTALL_INTERFACE:${static_libs}>")

# Headers and libraries.
install(TARGETS kizami EXPORT kizami-shared
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS kizami_static EXPORT kizami-static
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
list(TRANSFORM KIZAMI_INCLUDES APPEND /kizami OUTPUT_VARIABLE headers)
install(DIRECTORY ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.cuh" PATTERN "*.f90")
install(TARGETS kizami_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)

# find_package(kizami 0.1 CONFIG): Kizami::kizami and Kizami::kizami_static.
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kizami)
foreach(kind shared static)
  install(EXPORT kizami-${kind} NAMESPACE Kizami:: FILE kizami-${kind}-targets.cmake DESTINATION ${cmake_dir}
          COMPONENT development)
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/kizami-config.cmake.in
                              ${CMAKE_BINARY_DIR}/install/kizami-config.cmake INSTALL_DESTINATION ${cmake_dir}
                              NO_SET_AND_CHECK_MACRO)
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
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tools)
install(FILES docs/abi.md DESTINATION ${development_doc_dir} COMPONENT development)
