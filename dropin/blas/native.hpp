// SPDX-License-Identifier: MIT
// The BLAS that the program would call without this library, found at run time: this library is linked to none.
#pragma once

#include <cstdint>

#include "dropin/level3/native_function.hpp"

namespace kizami::dropin::blas {

/// The function of that name: of the next library in the program's order of loading; else of KIZAMI_NATIVE; else of a
/// library that is loaded out of that order (by a Python extension, say); else of one that the system finds. Never one
/// of this library. Null: there is none. Safe to call from any thread.
[[nodiscard]] void* find_native(const char* name);

/// The function as the program itself sees it: xerbla_, which programs replace. Null: there is none.
[[nodiscard]] void* find_program_function(const char* name);

using level3::NativeFunction;

/// The native gemm, trmm and trsm for what emulation leaves over, by whichever name and width of integers there is.
/// @shape as the routines of Fortran; letters in upper case
template <class T>
class NativeLevel3 {
 public:
  /// Whether there are all three, with integers wide enough for `largest`.
  [[nodiscard]] static bool is_there(std::int64_t largest);
  static void gemm(char op_a, char op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
                   std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc);
  static void trmm(char side, char uplo, char op, char diag, std::int64_t m, std::int64_t n, T alpha, const T* a,
                   std::int64_t lda, T* b, std::int64_t ldb);
  static void trsm(char side, char uplo, char op, char diag, std::int64_t m, std::int64_t n, T alpha, const T* a,
                   std::int64_t lda, T* b, std::int64_t ldb);
};

}  // namespace kizami::dropin::blas
