# Debian packages, one a component of cmake/install.cmake: libkizami0.1, libkizami-dev, kizami, libkizami-blas. Only in a tree that is
# configured for it (preset `package`, see ./kz package).
if(NOT KIZAMI_DEBIAN)
  return()
endif()
set(soname_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(package_runtime libkizami${soname_version})
set(package_development libkizami-dev)
set(package_tools kizami)
set(package_alternative libkizami-blas)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kizami)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${KIZAMI_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(components runtime development tools)
if(TARGET kizami_blas_alternative)
  list(APPEND components alternative)
endif()
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "matrix products with proven error bounds")
string(CONCAT about "Kizami multiplies matrices in FP32, FP64 and their complex types on 8-bit\n"
                    "integer arithmetic, at an accuracy that the caller states and the library\n"
                    "proves, with the same bits on every engine, thread count and machine.\n")
set(same_version "${package_runtime} (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${package_runtime})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "${about}This package holds the shared library.")

file(WRITE ${CMAKE_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
# What packages of programs that are linked with it depend on. CPack would also name the packages that hold a libblas.so.3 or a
# proxy of libcublas.so.13, and programs that need those libraries would come to depend on Kizami.
file(WRITE ${CMAKE_BINARY_DIR}/debian/shlibs "libkizami ${soname_version} ${package_runtime} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/debian/triggers ${CMAKE_BINARY_DIR}/debian/shlibs)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME ${package_development})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(blas_package libblas-dev)  # what libkizami.a links, beside libhwy
if("${BLAS_LIBRARIES}" MATCHES openblas)
  set(blas_package libopenblas-dev)
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${same_version}, libhwy-dev, ${blas_package}")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
    "${about}This package holds the headers for C and C++, the Fortran\nmodule and the static library.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ${package_tools})
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION math)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${same_version}")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "${about}This package holds the command line.")

# libblas.so.3 among the alternatives of the system, with a priority below all others: it is used where it is chosen.
set(CPACK_DEBIAN_ALTERNATIVE_PACKAGE_NAME ${package_alternative})
set(CPACK_DEBIAN_ALTERNATIVE_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_ALTERNATIVE_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ALTERNATIVE_PACKAGE_PROVIDES "libblas.so.3")
set(CPACK_DEBIAN_ALTERNATIVE_DESCRIPTION
    "${about}This package holds a libblas.so.3 to be chosen by update-alternatives:\nmatrix products by Kizami, all else by OpenBLAS.")
set(link ${CMAKE_INSTALL_FULL_LIBDIR}/libblas.so.3)
set(name libblas.so.3-${CMAKE_LIBRARY_ARCHITECTURE})
file(WRITE ${CMAKE_BINARY_DIR}/debian/alternative/postinst "#!/bin/sh\nset -e\nif [ \"$1\" = configure ]; then\n"
     "  update-alternatives --install ${link} ${name} ${CMAKE_INSTALL_FULL_LIBDIR}/kizami/libblas.so.3 1\n  ldconfig\nfi\n")
file(WRITE ${CMAKE_BINARY_DIR}/debian/alternative/prerm "#!/bin/sh\nset -e\nif [ \"$1\" != upgrade ]; then\n"
     "  update-alternatives --remove ${name} ${CMAKE_INSTALL_FULL_LIBDIR}/kizami/libblas.so.3\nfi\n")
file(CHMOD ${CMAKE_BINARY_DIR}/debian/alternative/postinst ${CMAKE_BINARY_DIR}/debian/alternative/prerm
     PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_ALTERNATIVE_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/debian/alternative/postinst
    ${CMAKE_BINARY_DIR}/debian/alternative/prerm)

# Each package has its copyright and changelog, as Debian wants them.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changelog ${CMAKE_BINARY_DIR}/debian/changelog)
file(WRITE ${changelog} "kizami (${PROJECT_VERSION}) unstable; urgency=medium\n\n"
                        "  * See CHANGELOG.md of package kizami.\n\n -- ${KIZAMI_PACKAGE_CONTACT}  ${date}\n")
find_program(KIZAMI_GZIP gzip REQUIRED)
execute_process(COMMAND ${KIZAMI_GZIP} -9nf ${changelog} COMMAND_ERROR_IS_FATAL ANY)
foreach(component ${components})
  set(doc_dir ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package_${component}})
  install(FILES LICENSE DESTINATION ${doc_dir} RENAME copyright COMPONENT ${component})
  install(FILES ${changelog}.gz DESTINATION ${doc_dir} COMPONENT ${component})
endforeach()
# Debian wants manual pages compressed.
execute_process(COMMAND ${KIZAMI_GZIP} -9nc ${PROJECT_SOURCE_DIR}/docs/kizami.1
                OUTPUT_FILE ${CMAKE_BINARY_DIR}/debian/kizami.1.gz COMMAND_ERROR_IS_FATAL ANY)
install(FILES ${CMAKE_BINARY_DIR}/debian/kizami.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)

include(CPack)
