# SPDX-License-Identifier: Apache-2.0
# LEMAN_SANITIZER_ENVIRONMENT: what a test's environment holds in a build with sanitizers.
set(LEMAN_SANITIZER_ENVIRONMENT
  ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
  UBSAN_OPTIONS=print_stacktrace=1
  TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1)
# The compiler's own symbolizer has a version in its name, which the sanitizers do not look for.
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  string(REGEX MATCH "^[0-9]+" clang_major ${CMAKE_C_COMPILER_VERSION})
  find_program(LLVM_SYMBOLIZER llvm-symbolizer-${clang_major})
  if(LLVM_SYMBOLIZER)
    foreach(sanitizer ASAN UBSAN TSAN)
      list(APPEND LEMAN_SANITIZER_ENVIRONMENT ${sanitizer}_SYMBOLIZER_PATH=${LLVM_SYMBOLIZER})
    endforeach()
  endif()
endif()
