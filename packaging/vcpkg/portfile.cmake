# SPDX-License-Identifier: MIT
# KIZAMI_ARCHIVE in the environment names the archive of a release: see packaging/README.md.
if(NOT EXISTS "$ENV{KIZAMI_ARCHIVE}")
  message(FATAL_ERROR "KIZAMI_ARCHIVE = '$ENV{KIZAMI_ARCHIVE}', must name kizami-${VERSION}.tar.gz")
endif()
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "$ENV{KIZAMI_ARCHIVE}")
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DKIZAMI_TESTS=OFF -DKIZAMI_PYTHON=OFF -DKIZAMI_CUDA=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/kizami)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
