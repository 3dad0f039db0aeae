# SPDX-License-Identifier: Apache-2.0
# Third-party libraries: those that are linked, in one interface target leman_dependencies;
# those that are compiled in, in LEMAN_BUNDLED_OBJECTS.

set(LEMAN_DEPS ${PROJECT_SOURCE_DIR}/.deps)
set(NANOARROW_DIR ${LEMAN_DEPS}/nanoarrow)

# Does nothing when .deps is complete, so it costs little to ask at every configure.
find_package(Python 3.11 COMPONENTS Interpreter REQUIRED)
execute_process(COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/deps
                RESULT_VARIABLE deps_result)
if(NOT deps_result EQUAL 0)
  message(FATAL_ERROR "tools/deps could not fetch the source dependencies")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/deps)

# The include folders of third parties are for this build only: what is installed neither has
# nor needs them.
function(leman_add_include folder)
  target_include_directories(leman_dependencies SYSTEM INTERFACE $<BUILD_INTERFACE:${folder}>)
endfunction()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
add_library(leman_dependencies INTERFACE)
target_link_libraries(leman_dependencies INTERFACE Threads::Threads m ${CMAKE_DL_LIBS})

add_library(leman_nanoarrow OBJECT ${NANOARROW_DIR}/nanoarrow.c)
target_include_directories(leman_nanoarrow SYSTEM PUBLIC ${NANOARROW_DIR}/include)
# Its heap calls go through src/arrow/heap.c, so that tests can make them fail. Like the other
# bundled libraries it exports its functions unless the macro for that is set to nothing.
target_compile_definitions(leman_nanoarrow PRIVATE NANOARROW_DLL=
  malloc=lmn__arrow_malloc realloc=lmn__arrow_realloc free=lmn__arrow_free)
set(LEMAN_BUNDLED_OBJECTS $<TARGET_OBJECTS:leman_nanoarrow>)
leman_add_include(${NANOARROW_DIR}/include)

if(LEMAN_BUNDLED)
  file(GLOB LEMAN_ZSTD_SOURCES ${LEMAN_DEPS}/zstd/lib/common/*.c
       ${LEMAN_DEPS}/zstd/lib/compress/*.c ${LEMAN_DEPS}/zstd/lib/decompress/*.c)
  add_library(leman_compressors OBJECT ${LEMAN_ZSTD_SOURCES} ${LEMAN_DEPS}/lz4/lib/lz4.c
              ${LEMAN_DEPS}/lz4/lib/lz4hc.c)
  # Unexported, they stay out of the way of another zstd in the same process.
  target_compile_definitions(leman_compressors PRIVATE ZSTD_DISABLE_ASM=1
    ZSTDLIB_VISIBLE= ZSTDERRORLIB_VISIBLE= LZ4LIB_VISIBILITY=)
  list(APPEND LEMAN_BUNDLED_OBJECTS $<TARGET_OBJECTS:leman_compressors>)
  leman_add_include(${LEMAN_DEPS}/xxhash)
  leman_add_include(${LEMAN_DEPS}/zstd/lib)
  leman_add_include(${LEMAN_DEPS}/lz4/lib)
else()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(LEMAN_COMPRESSORS REQUIRED IMPORTED_TARGET libzstd liblz4)
  target_link_libraries(leman_dependencies INTERFACE PkgConfig::LEMAN_COMPRESSORS)
  find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
  leman_add_include(${XXHASH_INCLUDE_DIR})
endif()
