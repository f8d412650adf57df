// SPDX-License-Identifier: MIT
// How a function of cuBLAS is defined here: exported under its name, with the native function that it stands before.
#pragma once

#include "dropin/cublas/native.hpp"
#include "kizami/export.h"

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define KIZAMI_FUNCTION_OF(library, name, ...)                                     \
  extern "C" KIZAMI_API cublasStatus_t name(__VA_ARGS__);                          \
  namespace kizami::dropin::cublas {                                               \
  static constinit NativeFunction native_##name(find_in<Library::library>, #name); \
  }                                                                                \
  extern "C" cublasStatus_t name(__VA_ARGS__)
#define KIZAMI_CUBLAS_FUNCTION(name, ...) KIZAMI_FUNCTION_OF(kCublas, name, __VA_ARGS__)
/// Within such a function: what it is, and who calls it.
#define KIZAMI_ENTRY(name, routine) \
  Entry { native_##name, Routine::routine, __builtin_return_address(0) }
// NOLINTEND(bugprone-macro-parentheses)
