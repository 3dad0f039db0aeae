# SPDX-License-Identifier: Apache-2.0
# What is installed: for C users the headers, both libraries, the command, leman.pc and a CMake
# package; for a Python wheel the extension (python/CMakeLists.txt), the command and licences.

if(SKBUILD)
  if(TARGET leman_cli)
    install(TARGETS leman_cli RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
  endif()
  if(LEMAN_BUNDLED)
    install(DIRECTORY ${LEMAN_DEPS}/licenses/ DESTINATION ${SKBUILD_METADATA_DIR}/licenses/bundled)
  endif()
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(LEMAN_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/leman)

install(DIRECTORY include/leman DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET leman_cli)
  install(TARGETS leman_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# Two export sets: a program that uses the shared library needs nothing else, one that uses the
# static library needs the libraries behind it too. leman-config.cmake reads both.
if(LEMAN_SHARED)
  install(TARGETS leman EXPORT leman_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT leman_shared NAMESPACE leman:: FILE leman-shared.cmake
          DESTINATION ${LEMAN_CMAKE_DIR})
endif()
install(TARGETS leman_static leman_dependencies EXPORT leman_static
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT leman_static NAMESPACE leman:: FILE leman-static.cmake
        DESTINATION ${LEMAN_CMAKE_DIR})

configure_package_config_file(cmake/leman-config.cmake.in leman-config.cmake
                              INSTALL_DESTINATION ${LEMAN_CMAKE_DIR})
write_basic_package_version_file(leman-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/leman-config.cmake
              ${PROJECT_BINARY_DIR}/leman-config-version.cmake DESTINATION ${LEMAN_CMAKE_DIR})

if(LEMAN_BUNDLED)
  set(LEMAN_PC_REQUIRES "")
else()
  set(LEMAN_PC_REQUIRES "libzstd liblz4")
endif()
# The prefix is found from where the file lies, so that `cmake --install --prefix` may choose it.
file(RELATIVE_PATH LEMAN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/leman.pc.in leman.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/leman.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
