// SPDX-License-Identifier: MIT
// The Fortran interface of level 3, by kinds of routines. All arguments are addresses; each letter has a hidden length
// at the end, which C programs leave out: it is not read, and the native function is given 1 for each.
#pragma once

#include <cctype>
#include <cstddef>

#include "dropin/blas/call.hpp"
#include "dropin/blas/native.hpp"
#include "dropin/blas/take.hpp"

namespace kizami::dropin::blas::fortran {

/// Of a letter, at the end of the arguments.
inline constexpr std::size_t kLength = 1;

inline char upper(const char* letter) { return static_cast<char>(std::toupper(static_cast<unsigned char>(*letter))); }

/// gemm, gemm3m.
template <class T, class Int>
[[gnu::noinline]] void product(NativeFunction& native, Routine routine, const void* caller, const char* op_a,
                               const char* op_b, const Int* m, const Int* n, const Int* k, const T* alpha, const T* a,
                               const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {
  using Function = void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*, const Int*,
                        const T*, const Int*, const T*, T*, const Int*, std::size_t, std::size_t);
  auto* function = native.as<Function>();
  const Call<T> call{
      {{routine, 'L', 'U', upper(op_a), upper(op_b), 'N', *m, *n, *k}, *alpha, a, *lda, b, *ldb, *beta, c, *ldc},
      native.name(),
      caller};
  take(call, tiny_call(native, caller, *op_a, *op_b, *m, *n, *k), function != nullptr,
       [&] { function(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1); });
}

/// gemmt.
template <class T, class Int>
[[gnu::noinline]] void triangle_of_product(NativeFunction& native, Routine routine, const void* caller,
                                           const char* uplo, const char* op_a, const char* op_b, const Int* n,
                                           const Int* k, const T* alpha, const T* a, const Int* lda, const T* b,
                                           const Int* ldb, const T* beta, T* c, const Int* ldc) {
  using Function = void(const char*, const char*, const char*, const Int*, const Int*, const T*, const T*, const Int*,
                        const T*, const Int*, const T*, T*, const Int*, std::size_t, std::size_t, std::size_t);
  auto* function = native.as<Function>();
  const Call<T> call{{{routine, 'L', upper(uplo), upper(op_a), upper(op_b), 'N', *n, *n, *k},
                      *alpha,
                      a,
                      *lda,
                      b,
                      *ldb,
                      *beta,
                      c,
                      *ldc},
                     native.name(),
                     caller};
  take(call, tiny_call(native, caller, *uplo, *op_a, *op_b, *n, *k), function != nullptr,
       [&] { function(uplo, op_a, op_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1, 1); });
}

/// symm, hemm.
template <class T, class Int>
[[gnu::noinline]] void symmetric(NativeFunction& native, Routine routine, const void* caller, const char* side,
                                 const char* uplo, const Int* m, const Int* n, const T* alpha, const T* a,
                                 const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {
  using Function = void(const char*, const char*, const Int*, const Int*, const T*, const T*, const Int*, const T*,
                        const Int*, const T*, T*, const Int*, std::size_t, std::size_t);
  auto* function = native.as<Function>();
  const Int k = upper(side) == 'R' ? *n : *m;
  const Call<T> call{
      {{routine, upper(side), upper(uplo), 'N', 'N', 'N', *m, *n, k}, *alpha, a, *lda, b, *ldb, *beta, c, *ldc},
      native.name(),
      caller};
  take(call, tiny_call(native, caller, *side, *uplo, *m, *n), function != nullptr,
       [&] { function(side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1); });
}

/// syrk, herk: Factor is real for herk.
template <class T, class Int, class Factor>
[[gnu::noinline]] void rank_k(NativeFunction& native, Routine routine, const void* caller, const char* uplo,
                              const char* op, const Int* n, const Int* k, const Factor* alpha, const T* a,
                              const Int* lda, const Factor* beta, T* c, const Int* ldc) {
  using Function = void(const char*, const char*, const Int*, const Int*, const Factor*, const T*, const Int*,
                        const Factor*, T*, const Int*, std::size_t, std::size_t);
  auto* function = native.as<Function>();
  const Call<T> call{
      {{routine, 'L', upper(uplo), upper(op), 'N', 'N', *n, *n, *k}, T(*alpha), a, *lda, nullptr, 0, T(*beta), c, *ldc},
      native.name(),
      caller};
  take(call, tiny_call(native, caller, *uplo, *op, *n, *k), function != nullptr,
       [&] { function(uplo, op, n, k, alpha, a, lda, beta, c, ldc, 1, 1); });
}

/// syr2k, her2k: Factor, of beta, is real for her2k.
template <class T, class Int, class Factor>
[[gnu::noinline]] void rank_2k(NativeFunction& native, Routine routine, const void* caller, const char* uplo,
                               const char* op, const Int* n, const Int* k, const T* alpha, const T* a, const Int* lda,
                               const T* b, const Int* ldb, const Factor* beta, T* c, const Int* ldc) {
  using Function = void(const char*, const char*, const Int*, const Int*, const T*, const T*, const Int*, const T*,
                        const Int*, const Factor*, T*, const Int*, std::size_t, std::size_t);
  auto* function = native.as<Function>();
  const Call<T> call{
      {{routine, 'L', upper(uplo), upper(op), 'N', 'N', *n, *n, *k}, *alpha, a, *lda, b, *ldb, T(*beta), c, *ldc},
      native.name(),
      caller};
  take(call, tiny_call(native, caller, *uplo, *op, *n, *k), function != nullptr,
       [&] { function(uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1); });
}

/// trmm, trsm.
template <class T, class Int>
[[gnu::noinline]] void triangular(NativeFunction& native, Routine routine, const void* caller, const char* side,
                                  const char* uplo, const char* op, const char* diag, const Int* m, const Int* n,
                                  const T* alpha, const T* a, const Int* lda, T* b, const Int* ldb) {
  using Function = void(const char*, const char*, const char*, const char*, const Int*, const Int*, const T*, const T*,
                        const Int*, T*, const Int*, std::size_t, std::size_t, std::size_t, std::size_t);
  auto* function = native.as<Function>();
  const Int k = upper(side) == 'R' ? *n : *m;
  const Call<T> call{{{routine, upper(side), upper(uplo), upper(op), 'N', upper(diag), *m, *n, k},
                      *alpha,
                      a,
                      *lda,
                      nullptr,
                      0,
                      T{},
                      b,
                      *ldb},
                     native.name(),
                     caller};
  take(call, tiny_call(native, caller, *side, *uplo, *op, *diag, *m, *n), function != nullptr,
       [&] { function(side, uplo, op, diag, m, n, alpha, a, lda, b, ldb, 1, 1, 1, 1); });
}

}  // namespace kizami::dropin::blas::fortran
