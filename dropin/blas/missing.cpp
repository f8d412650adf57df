// SPDX-License-Identifier: MIT
// Functions of this library that the native one lacks: the reference BLAS has no gemm3m and, before 3.12, no gemmt; few
// libraries have both widths of integers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dropin/blas/emulate.hpp"
#include "dropin/blas/plain_int.hpp"
#include "dropin/blas/take.hpp"
#include "dropin/policy/rules.hpp"

namespace kizami::dropin::blas {
namespace {

/// The number of the first argument of the routine's Fortran form that is not valid. @range is_valid(x) is false
template <class T>
int first_invalid(const Call<T>& x) {
  const bool has_side = is_symmetric(x.routine) || is_triangular(x.routine);
  const bool has_uplo = has_side || has_triangle(x.routine);
  const bool has_two_ops = !has_side && !is_rank_k(x.routine) && !is_rank_2k(x.routine);
  int number = 0;  // of the argument looked at last
  if (has_side && (++number, x.side != 'L' && x.side != 'R')) return number;
  if (has_uplo && (++number, x.uplo != 'U' && x.uplo != 'L')) return number;
  if (!is_symmetric(x.routine) && (++number, !has_op(x, kIsComplex<T>, x.op_a))) return number;
  if (has_two_ops && (++number, !has_op(x, kIsComplex<T>, x.op_b))) return number;
  if (is_triangular(x.routine) && (++number, x.diag != 'N' && x.diag != 'U')) return number;
  if (!has_triangle(x.routine) && (++number, x.m < 0)) return number;
  if (++number, x.n < 0) return number;
  if (!has_side && (++number, x.k < 0)) return number;
  const StoredRows rows = stored_rows(x);
  number += 3;  // alpha, A, lda
  if (!is_leading_dimension(x.lda, rows.a)) return number;
  const bool has_b = !is_triangular(x.routine) && !is_rank_k(x.routine);
  if (has_b && (number += 2, !is_leading_dimension(x.ldb, rows.b))) return number;
  return number + (is_triangular(x.routine) ? 2 : 3);  // beta, C, ldc
}

[[noreturn]] void refuse(const char* name) {
  std::fprintf(stderr, "kizami: %s is called, and no BLAS has it\n", name);
  std::abort();
}

}  // namespace

template <class T>
void answer_for_missing(const Call<T>& call) noexcept {
  if (!NativeLevel3<T>::is_there(std::max({call.m, call.n, call.k, call.lda, call.ldb, call.ldc}))) refuse(call.name);
  if (!is_valid(call)) {
    using Xerbla = void(const char*, const PlainInt*, std::size_t);
    auto* xerbla = reinterpret_cast<Xerbla*>(find_program_function("xerbla_"));
    if (xerbla == nullptr) refuse("xerbla_");
    std::string name = letter_of(kScalarOf<T>) + std::string(to_string(call.routine));
    for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const PlainInt number = first_invalid(call);
    return xerbla(name.c_str(), &number, name.size());
  }
  if (call.m == 0 || call.n == 0) return;
  try {
    Products<T> native;
    emulate(call, native);
  } catch (...) {
    std::fprintf(stderr, "kizami: %s: no memory\n", call.name);
    std::abort();
  }
}

template void answer_for_missing<float>(const Call<float>&) noexcept;
template void answer_for_missing<double>(const Call<double>&) noexcept;
template void answer_for_missing<std::complex<float>>(const Call<std::complex<float>>&) noexcept;
template void answer_for_missing<std::complex<double>>(const Call<std::complex<double>>&) noexcept;

}  // namespace kizami::dropin::blas
