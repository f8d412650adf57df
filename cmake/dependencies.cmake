# The third-party libraries, each behind one target. Debian's package is named beside each (./kz installs them).
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)              # libfmt-dev                fmt::fmt
find_package(hwy REQUIRED)              # libhwy-dev                hwy::hwy
find_package(CLI11 REQUIRED)            # libcli11-dev              CLI11::CLI11
find_package(nlohmann_json REQUIRED)    # nlohmann-json3-dev        nlohmann_json::nlohmann_json

# Any BLAS by FindBLAS (libopenblas-dev), through its C interface: Kizami::cblas.
find_package(BLAS REQUIRED)
find_path(KIZAMI_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-pthread openblas-openmp openblas-serial openblas REQUIRED)
include(CheckSymbolExists)
include(CMakePushCheckState)
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_INCLUDES ${KIZAMI_CBLAS_INCLUDE_DIR})
set(CMAKE_REQUIRED_LIBRARIES ${BLAS_LIBRARIES})
check_symbol_exists(cblas_dgemm cblas.h KIZAMI_BLAS_HAS_CBLAS)
cmake_pop_check_state()
add_library(kizami_cblas INTERFACE)
add_library(Kizami::cblas ALIAS kizami_cblas)
target_include_directories(kizami_cblas SYSTEM INTERFACE ${KIZAMI_CBLAS_INCLUDE_DIR})
target_link_libraries(kizami_cblas INTERFACE ${BLAS_LIBRARIES})
if(NOT KIZAMI_BLAS_HAS_CBLAS)
  find_library(KIZAMI_CBLAS_LIBRARY cblas REQUIRED)
  target_link_libraries(kizami_cblas INTERFACE ${KIZAMI_CBLAS_LIBRARY})
endif()

if(KIZAMI_TESTS)
  find_package(GTest REQUIRED)          # libgtest-dev              GTest::gtest GTest::gtest_main
  find_package(PkgConfig REQUIRED)      # pkg-config
  pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr gmp)  # libmpfr-dev   PkgConfig::MPFR
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
endif()
