// SPDX-License-Identifier: MIT
// The C interface of level 3, by kinds of routines: options are numbers, sizes and real factors are values, complex
// factors are addresses. Row-major calls become column-major ones (call.hpp); a call that is left to the native library
// is not changed.
#pragma once

#include <type_traits>

#include "dropin/blas/call.hpp"
#include "dropin/blas/native.hpp"
#include "dropin/blas/take.hpp"

namespace kizami::dropin::blas::cblas {

/// A factor of type T as CBLAS passes it.
template <class T>
using FactorArgument = std::conditional_t<kIsComplex<T>, const T*, T>;

template <class T>
T value_of(const T& factor) {
  return factor;
}
template <class T>
T value_of(const T* factor) {
  return *factor;
}

/// The letters of Fortran for numbers of CBLAS; 0 is not understood.
constexpr char letter(int option) {
  switch (option) {
    case 111:
    case 131:
      return 'N';
    case 112:
      return 'T';
    case 113:
      return 'C';
    case 121:
    case 132:
      return 'U';
    case 122:
    case 141:
      return 'L';
    case 142:
      return 'R';
    default:
      return 0;
  }
}

/// Makes it the column-major call, in place: a copy waits for the stores of what it copies, which is a tenth of what
/// forwarding takes. An order that is not understood makes it invalid.
template <class T>
void put_in_order(int order, Call<T>& call) {
  constexpr int kRowMajor = 101;
  constexpr int kColMajor = 102;
  if (order == kRowMajor) turn_row_major(call);
  if (order != kRowMajor && order != kColMajor) call.side = 0;
}

/// gemm, gemm3m.
template <class T, class Int>
[[gnu::noinline]] void product(NativeFunction& native, Routine routine, const void* caller, int order, int op_a,
                               int op_b, Int m, Int n, Int k, FactorArgument<T> alpha, const T* a, Int lda, const T* b,
                               Int ldb, FactorArgument<T> beta, T* c, Int ldc) {
  using Function =
      void(int, int, int, Int, Int, Int, FactorArgument<T>, const T*, Int, const T*, Int, FactorArgument<T>, T*, Int);
  auto* function = native.as<Function>();
  Call<T> call;  // field by field: GCC clears a whole list of them first, which takes a twentieth of forwarding
  call.routine = routine;
  call.op_a = letter(op_a);
  call.op_b = letter(op_b);
  call.m = m;
  call.n = n;
  call.k = k;
  call.alpha = value_of(alpha);
  call.a = a;
  call.lda = lda;
  call.b = b;
  call.ldb = ldb;
  call.beta = value_of(beta);
  call.c = c;
  call.ldc = ldc;
  call.name = native.name();
  call.caller = caller;
  put_in_order(order, call);
  take(call, tiny_call(native, caller, order, op_a, op_b, m, n, k), function != nullptr,
       [&] { function(order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); });
}

/// gemmt.
template <class T, class Int>
[[gnu::noinline]] void triangle_of_product(NativeFunction& native, Routine routine, const void* caller, int order,
                                           int uplo, int op_a, int op_b, Int n, Int k, FactorArgument<T> alpha,
                                           const T* a, Int lda, const T* b, Int ldb, FactorArgument<T> beta, T* c,
                                           Int ldc) {
  using Function =
      void(int, int, int, int, Int, Int, FactorArgument<T>, const T*, Int, const T*, Int, FactorArgument<T>, T*, Int);
  auto* function = native.as<Function>();
  Call<T> call{{{routine, 'L', letter(uplo), letter(op_a), letter(op_b), 'N', n, n, k},
                value_of(alpha),
                a,
                lda,
                b,
                ldb,
                value_of(beta),
                c,
                ldc},
               native.name(),
               caller};
  put_in_order(order, call);
  take(call, tiny_call(native, caller, order, uplo, op_a, op_b, n, k), function != nullptr,
       [&] { function(order, uplo, op_a, op_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc); });
}

/// symm, hemm.
template <class T, class Int>
[[gnu::noinline]] void symmetric(NativeFunction& native, Routine routine, const void* caller, int order, int side,
                                 int uplo, Int m, Int n, FactorArgument<T> alpha, const T* a, Int lda, const T* b,
                                 Int ldb, FactorArgument<T> beta, T* c, Int ldc) {
  using Function =
      void(int, int, int, Int, Int, FactorArgument<T>, const T*, Int, const T*, Int, FactorArgument<T>, T*, Int);
  auto* function = native.as<Function>();
  const Int k = letter(side) == 'R' ? n : m;
  Call<T> call{{{routine, letter(side), letter(uplo), 'N', 'N', 'N', m, n, k},
                value_of(alpha),
                a,
                lda,
                b,
                ldb,
                value_of(beta),
                c,
                ldc},
               native.name(),
               caller};
  put_in_order(order, call);
  take(call, tiny_call(native, caller, order, side, uplo, m, n), function != nullptr,
       [&] { function(order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc); });
}

/// syrk, herk: Factor is real for herk.
template <class T, class Int, class Factor>
[[gnu::noinline]] void rank_k(NativeFunction& native, Routine routine, const void* caller, int order, int uplo, int op,
                              Int n, Int k, FactorArgument<Factor> alpha, const T* a, Int lda,
                              FactorArgument<Factor> beta, T* c, Int ldc) {
  using Function =
      void(int, int, int, Int, Int, FactorArgument<Factor>, const T*, Int, FactorArgument<Factor>, T*, Int);
  auto* function = native.as<Function>();
  Call<T> call{{{routine, 'L', letter(uplo), letter(op), 'N', 'N', n, n, k},
                T(value_of(alpha)),
                a,
                lda,
                nullptr,
                0,
                T(value_of(beta)),
                c,
                ldc},
               native.name(),
               caller};
  put_in_order(order, call);
  take(call, tiny_call(native, caller, order, uplo, op, n, k), function != nullptr,
       [&] { function(order, uplo, op, n, k, alpha, a, lda, beta, c, ldc); });
}

/// syr2k, her2k: Factor, of beta, is real for her2k.
template <class T, class Int, class Factor>
[[gnu::noinline]] void rank_2k(NativeFunction& native, Routine routine, const void* caller, int order, int uplo, int op,
                               Int n, Int k, FactorArgument<T> alpha, const T* a, Int lda, const T* b, Int ldb,
                               FactorArgument<Factor> beta, T* c, Int ldc) {
  using Function =
      void(int, int, int, Int, Int, FactorArgument<T>, const T*, Int, const T*, Int, FactorArgument<Factor>, T*, Int);
  auto* function = native.as<Function>();
  Call<T> call{{{routine, 'L', letter(uplo), letter(op), 'N', 'N', n, n, k},
                value_of(alpha),
                a,
                lda,
                b,
                ldb,
                T(value_of(beta)),
                c,
                ldc},
               native.name(),
               caller};
  put_in_order(order, call);
  take(call, tiny_call(native, caller, order, uplo, op, n, k), function != nullptr,
       [&] { function(order, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc); });
}

/// trmm, trsm.
template <class T, class Int>
[[gnu::noinline]] void triangular(NativeFunction& native, Routine routine, const void* caller, int order, int side,
                                  int uplo, int op, int diag, Int m, Int n, FactorArgument<T> alpha, const T* a,
                                  Int lda, T* b, Int ldb) {
  using Function = void(int, int, int, int, int, Int, Int, FactorArgument<T>, const T*, Int, T*, Int);
  auto* function = native.as<Function>();
  const Int k = letter(side) == 'R' ? n : m;
  Call<T> call{{{routine, letter(side), letter(uplo), letter(op), 'N', letter(diag), m, n, k},
                value_of(alpha),
                a,
                lda,
                nullptr,
                0,
                T{},
                b,
                ldb},
               native.name(),
               caller};
  put_in_order(order, call);
  take(call, tiny_call(native, caller, order, side, uplo, op, diag, m, n), function != nullptr,
       [&] { function(order, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb); });
}

}  // namespace kizami::dropin::blas::cblas
